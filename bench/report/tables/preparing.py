"""What comes before any prediction: loading the features, training the model."""

from bench.report.figures import ranged, three_digits, whole
from bench.report.markdown import table
from bench.report.measured import Measured
from bench.report.preparing import trainings


def loading(measured: Measured) -> str:
    """How long the features took to load."""
    rows = [
        (load.what, whole(load.rows), three_digits(load.seconds), whole(load.bytes / 1e6))
        for load in measured.result.loading
    ]
    return table(("", "rows", "seconds", "MB"), rows)


def training(measured: Measured) -> str:
    """What training took, each way."""
    rows = [
        (
            one.what, whole(one.rows), str(one.rounds), str(one.threads),
            ranged(one.seconds, three_digits), ranged(one.megabytes, whole),
        )
        for one in trainings(measured)
    ]  # fmt: skip
    return table(("", "rows", "trees", "threads", "seconds", "MB above idle"), rows)
