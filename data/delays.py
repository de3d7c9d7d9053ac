"""Generates the delays of flights, the target of the models.

A delay in minutes is the sum of effects of airport, airline, hour, day, season and aircraft, plus noise, and
never below zero: most flights leave on time. The hour is not a column; as in the real data it is hidden in
the flight number, which grows over the day within each airline's range. Two effects are interactions (storms
on summer evenings, ice in winter at northern airports), so trees of depth one are not enough. Cancelled
flights have no delay.

Noise comes from tables of quantiles computed by division, not by log or exp, whose last bits differ between
machines.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from data import world

NO_DELAY = -1
LONGEST_DELAY = 1800.0


@dataclass(frozen=True)
class Effects:
    """The minutes that each airport, airline and so on adds, by its index."""

    airport: NDArray[np.float64]
    airline: NDArray[np.float64]
    aircraft: NDArray[np.float64]
    day_of_week: NDArray[np.float64]
    month: NDArray[np.float64]
    icy: NDArray[np.bool_]
    chance: NDArray[np.float64]
    cancelled: NDArray[np.uint16]


@dataclass(frozen=True)
class Flights:
    """The properties of a block's flights, as indices into the network."""

    origin: NDArray[np.integer]
    airline: NDArray[np.integer]
    number: NDArray[np.integer]
    aircraft: NDArray[np.integer]
    month: NDArray[np.integer]
    day_of_week: NDArray[np.integer]


def _chance() -> NDArray[np.float64]:
    """Returns quantiles of a noise around zero with a long upper tail, as that of delays."""
    rank = (np.arange(world.CHOICES) + 0.5) / world.CHOICES
    return 4.5 * np.sqrt(rank / (1.0 - rank)) - 12.0 * (1.0 - rank) - 6.0


@cache
def effects() -> Effects:
    """Returns the effects, which are the same for every seed."""
    month = (2.0, 4.0, 0.0, -1.0, 1.0, 7.0, 9.0, 6.0, -3.0, -4.0, -2.0, 5.0)
    day_of_week = (1.0, -2.0, -1.0, 3.0, 4.0, -4.0, 2.0)
    cancelled = (3, 4, 2, 2, 1, 2, 2, 2, 1, 1, 1, 3)
    return Effects(
        airport=world.fractions(world.AIRPORTS, 10) * 24.0 - 12.0,
        airline=world.fractions(world.AIRLINES, 11) * 20.0 - 12.0,
        aircraft=world.fractions(world.AIRCRAFT_PER_AIRLINE, 12) * 4.0,
        day_of_week=np.array((0.0, *day_of_week)),
        month=np.array((0.0, *month)),
        icy=world.fractions(world.AIRPORTS, 13) < 0.3,
        chance=_chance(),
        cancelled=np.array((0, *cancelled), dtype=np.uint16) * np.uint16(world.CHOICES // 100),
    )


def delays(
    flights: Flights, chance: NDArray[np.uint16], cancelled: NDArray[np.uint16]
) -> NDArray[np.int32]:
    """Returns whole minutes, or `NO_DELAY` for cancelled flights."""
    table = effects()
    hour = flights.number / world.FLIGHTS_PER_AIRLINE
    evening = hour > 0.6
    summer = (flights.month >= 6) & (flights.month <= 8)
    winter = (flights.month <= 2) | (flights.month == 12)
    minutes = (
        table.airport[flights.origin]
        + table.airline[flights.airline]
        + table.aircraft[flights.aircraft]
        + table.day_of_week[flights.day_of_week]
        + table.month[flights.month]
        + 14.0 * hour
        + 18.0 * (evening & summer)
        + 25.0 * (winter & table.icy[flights.origin])
        + table.chance[chance]
    )
    whole = np.floor(np.clip(minutes, 0.0, LONGEST_DELAY)).astype(np.int32)
    return np.where(cancelled < table.cancelled[flights.month], NO_DELAY, whole)
