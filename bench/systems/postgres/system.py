"""This extension's predict, asked directly and through PgBouncer."""

from bench.systems.pgbouncer import ThroughPgbouncer as Pooled
from bench.systems.sql import Sql as Direct

__all__ = ["Direct", "Pooled"]
