"""Files that a statement makes in the data directory, and must not leave there."""

from pathlib import Path

PATTERNS = ("pgboost/*/*.tmp", "pg_stat_tmp/pgboost_train*", "base/pgsql_tmp/*")


def unfinished(data: Path) -> list[Path]:
    """Files that a statement began and did not end."""
    return [path for pattern in PATTERNS for path in data.glob(pattern)]
