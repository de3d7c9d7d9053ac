"""Measures things in turn, so that a machine that slows down does so for all of them.

Every other repetition goes backwards: none is always the first, or always follows the same.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tqdm import tqdm

Value = TypeVar("Value")


def in_turn(
    subjects: Mapping[str, Callable[[], Value]], repetitions: int, warm_ups: int = 0
) -> dict[str, list[Value]]:
    """What each gave in each repetition; those before, which warm caches up, are not counted."""
    values: dict[str, list[Value]] = {name: [] for name in subjects}
    rounds = warm_ups + repetitions
    with tqdm(total=rounds * len(subjects), leave=False, disable=None) as bar:
        for number in range(rounds):
            for name in [*subjects][:: 1 if number % 2 == 0 else -1]:
                value = subjects[name]()
                if number >= warm_ups:
                    values[name].append(value)
                bar.update(1)
    return values


def median_ratio(values: Sequence[float], controls: Sequence[float]) -> float:
    """How the one compares with the other, each repetition with itself."""
    return statistics.median(v / c for v, c in zip(values, controls, strict=True))
