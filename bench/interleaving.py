"""Interleaves measurements, so that a machine that slows down does so for all subjects.

Each repetition measures every subject once, in a new order from a seed, so that none is always first or
always follows the same one. All comparisons use this module.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Subject = TypeVar("Subject")
Value = TypeVar("Value")
SEED = 2022


def shuffled(subjects: Sequence[Subject], repetition: int, seed: int = SEED) -> list[Subject]:
    """Returns the order of a repetition."""
    order = [*subjects]
    random.Random(f"{seed} {repetition}").shuffle(order)
    return order


def interleaved(
    measures: Mapping[Subject, Callable[[], Value]],
    repetitions: int,
    warm_ups: int = 0,
) -> dict[Subject, list[Value]]:
    """Returns each subject's value in every repetition, without those of the warm-ups before."""
    values: dict[Subject, list[Value]] = {subject: [] for subject in measures}
    for repetition in range(-warm_ups, repetitions):
        for subject in shuffled([*measures], repetition):
            value = measures[subject]()
            if repetition >= 0:
                values[subject].append(value)
    return values
