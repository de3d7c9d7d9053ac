"""Measures subjects in turn, so that a machine that slows down does so for all of them.

Each repetition takes all once, in a new random order from a seed, so that none is always the first, or
always follows the same. Everything that compares goes through here.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Subject = TypeVar("Subject")
Value = TypeVar("Value")
SEED = 2022


def shuffled(subjects: Sequence[Subject], repetition: int, seed: int = SEED) -> list[Subject]:
    """The order of a repetition."""
    order = [*subjects]
    random.Random(f"{seed} {repetition}").shuffle(order)
    return order


def in_turn(
    measures: Mapping[Subject, Callable[[], Value]],
    repetitions: int,
    warm_ups: int = 0,
) -> dict[Subject, list[Value]]:
    """What each gave in each repetition; those before, which warm caches up, are not counted."""
    values: dict[Subject, list[Value]] = {subject: [] for subject in measures}
    for repetition in range(-warm_ups, repetitions):
        for subject in shuffled([*measures], repetition):
            value = measures[subject]()
            if repetition >= 0:
                values[subject].append(value)
    return values
