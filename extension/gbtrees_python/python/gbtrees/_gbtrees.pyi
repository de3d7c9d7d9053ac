from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__version__: str

class GbtreesError(ValueError):
    """Any error of this package: a model that is not read, or rows that do not fit it."""

@final
class Engine:
    def __new__(
        cls, content: bytes, rounds: int | None, feature_names: list[str] | None, labels: list[str]
    ) -> Engine: ...
    num_features: int
    num_outputs: int
    num_trees: int
    num_values: int
    format: str
    objective: str
    feature_names: list[str]
    labels: list[str]
    compares_doubles: bool
    has_classes: bool
    predicts_probabilities: bool
    categorical: tuple[list[int], list[int], list[int]]
    def predict(self, rows: Any, output: int, threads: int) -> NDArray[Any]: ...
    def explain(self, rows: Any, interactions: bool, threads: int) -> NDArray[np.float32]: ...
    def leaves(self, rows: Any, threads: int) -> NDArray[np.uint32]: ...
    def category(self, feature: int, value: Any) -> float | None: ...
    def importance(self, kind: str) -> list[float] | None: ...

def to_sql(
    content: bytes,
    rounds: int | None,
    feature_names: list[str] | None,
    labels: list[str],
    options: tuple[str, str, int | None, str],
) -> str: ...
