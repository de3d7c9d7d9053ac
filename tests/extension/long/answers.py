"""Models of XGBoost with its predictions, and the possible states of a model on a server.

Each model has one writer. Whoever reads notes the last state that was acknowledged before a statement: the
answer must be that of this state, or of a later one that had begun by the end of the statement.
"""

from dataclasses import dataclass, field

import numpy as np
import psycopg
import xgboost as xgb

from tests.extension.long.identities import EXTENSION_OWNER, Refused, Registry

ROWS, FEATURES = 1000, 6
FILES = 12
NAMES = [f"f{number + 1}" for number in range(FEATURES)]
GUEST = "guest"


@dataclass
class Answers:
    """The rows, and by file what XGBoost predicts for each."""

    rows: np.ndarray
    target: np.ndarray
    files: list[bytes] = field(default_factory=list)
    margins: list[np.ndarray] = field(default_factory=list)
    leaves: list[np.ndarray] = field(default_factory=list)
    contributions: list[np.ndarray] = field(default_factory=list)
    interactions: list[np.ndarray] = field(default_factory=list)

    @classmethod
    def trained(cls) -> "Answers":
        """Trains the models."""
        random = np.random.default_rng(1)
        rows = random.normal(size=(ROWS, FEATURES)).astype(np.float32)
        rows[random.random(rows.shape) < 0.05] = np.nan
        found = cls(rows, np.nan_to_num(rows).sum(axis=1))
        for number in range(FILES):
            noise = random.normal(size=ROWS) * (1 + number)
            data = xgb.DMatrix(rows, label=found.target + noise, feature_names=NAMES)
            booster = xgb.train({"max_depth": 5, "nthread": 1}, data, 40)
            found.files.append(bytes(booster.save_raw("ubj")))
            found.margins.append(booster.predict(data, output_margin=True))
            found.leaves.append(booster.predict(data, pred_leaf=True).astype(int))
            found.contributions.append(booster.predict(data, pred_contribs=True))
            found.interactions.append(booster.predict(data, pred_interactions=True))
        return found

    def store(self, connection: psycopg.Connection) -> None:
        """Makes the table `rows`, whose ids count from 1."""
        columns = ", ".join(f"{name} real" for name in NAMES)
        connection.execute(f"CREATE TABLE rows (id integer PRIMARY KEY, {columns}, y real)")
        with connection.cursor().copy("COPY rows FROM STDIN") as copy:
            for number, (row, target) in enumerate(zip(self.rows, self.target, strict=True), 1):
                numbers = [None if np.isnan(one) else float(one) for one in (*row, target)]
                copy.write_row([number, *numbers])

    def of(self, file: int, ids: list[int]) -> np.ndarray:
        """The predictions of a file for rows."""
        return self.margins[file][np.array(ids, int) - 1]

    def are_of(self, file: int, ids: list[int], found: list[float]) -> bool:
        """Whether these are the predictions of a file for rows, to the bit."""
        return np.array_equal(np.array(found, np.float32), self.of(file, ids))

    def are_about(self, explained: list[np.ndarray], file: int, row: int, found: list) -> bool:
        """Whether these are XGBoost's numbers that explain a row, which it sums in another order."""
        return np.allclose(found[0], explained[file][row - 1], rtol=1e-4, atol=1e-4)


class Ledger:
    """The states of a model, as registries of it alone, in their order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.states = [Registry(roles={GUEST, EXTENSION_OWNER})]
        self.acknowledged = 0
        # The file of each version there ever was, since numbers are not used again.
        self.files: dict[int, int] = {}

    def begin(self, state: Registry) -> None:
        """A state that may be committed from now on."""
        self.states.append(state)
        for model in state.rows.values():
            self.files |= {number: version.value for number, version in model.versions.items()}

    def settle(self, state: Registry) -> None:
        """The state that is committed, whatever was attempted."""
        if self.states[-1] is not state:
            self.states.append(state)
        self.acknowledged = len(self.states) - 1

    def possible(
        self,
        since: int,
        wanted: int | str | None = None,
        user: str = EXTENSION_OWNER,
        until: int | None = None,
    ) -> set[int | str]:
        """The files that may answer, or SQLSTATEs.

        Rows are of a state up to `until`, the number of states then, and privileges of it or a later one.
        """
        states = self.states[since:]
        return {
            _read(later, state, self.name, wanted, user)
            for place, state in enumerate(self.states[since:until])
            for later in states[place:]
        }


def _read(
    now: Registry, snapshot: Registry, name: str, wanted: int | str | None, user: str
) -> int | str:
    try:
        model, number = now.read(snapshot.rows, user, name, wanted)
    except Refused as refused:
        return refused.args[0]
    return model.versions[number].value
