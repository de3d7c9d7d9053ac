"""The entries of the comparison: what each is called on a page, and how it is drawn.

An entry is a system in one of its variants. The colours are Okabe and Ito's, which people with any common
colour blindness tell apart, blue to green for PostgreSQL and yellow to red for the service; markers and
line styles say the same again. The order is that of legends and tables.
"""

from dataclasses import dataclass

POSTGRES, PYTHON = "postgres", "python"


@dataclass(frozen=True)
class Entry:
    """One entry."""

    system: str
    variant: str
    label: str
    colour: str
    marker: str = "o"
    line: str = "-"

    @property
    def ink(self) -> str:
        """The colour for text: dark enough to be read on white."""
        parts = [int(self.colour[place : place + 2], 16) for place in (1, 3, 5)]
        bright = (0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2]) / 255
        share = min(1.0, 0.42 / bright)
        return "#" + "".join(f"{round(part * share):02X}" for part in parts)

    @property
    def side(self) -> str:
        """Whose entry it is: `postgres` or `python`."""
        return PYTHON if self.system.startswith(PYTHON) else POSTGRES


SIMPLE = Entry("postgres_direct", "simple", "PostgreSQL (simple)", "#0072B2")
PREPARED = Entry("postgres_direct", "prepared", "PostgreSQL (prepared)", "#56B4E9", "s")
POOLED = Entry("postgres_pgbouncer", "simple", "PostgreSQL (PgBouncer)", "#009E73", "^")
POOLED_PREPARED = Entry(
    "postgres_pgbouncer", "prepared", "PostgreSQL (PgBouncer, prepared)", "#66CDAA", "v"
)
TUNED = Entry("python_tuned", "http", "service (tuned)", "#D55E00", "D", "--")
ONE_THREAD = Entry(
    "python_published_one_thread", "http", "service (published, one thread)", "#E69F00", "X", "--"
)
AS_PUBLISHED = Entry("python_published", "http", "service (as published)", "#999999", "P", ":")

# The entries that the comparison is about; the service as it was published is for the record.
MAIN = (SIMPLE, PREPARED, POOLED, POOLED_PREPARED, TUNED, ONE_THREAD)
FURTHER = (
    Entry("postgres_libxgboost", "simple", "libxgboost in PostgreSQL (simple)", "#CC79A7", "<"),
    Entry("postgres_libxgboost", "prepared", "libxgboost in PostgreSQL (prepared)", "#E3B3CE", ">"),
    Entry("postgres_plpython", "simple", "PL/Python in PostgreSQL (simple)", "#882255", "h"),
    Entry("postgres_plpython", "prepared", "PL/Python in PostgreSQL (prepared)", "#AA6688", "H"),
    Entry("python_tuned_3_2", "http", "service (tuned, XGBoost 3.2)", "#A63D00", "H", "--"),
    Entry("python_memory", "http", "service (features in memory)", "#B8A200", "*", "--"),
    Entry("python_postgresql", "http", "service (features in PostgreSQL)", "#8C510A", "p", "--"),
    Entry("python_orjson", "http", "service (orjson in Redis)", "#D98880", "d", "--"),
    Entry("python_msgpack", "http", "service (msgpack in Redis)", "#C0392B", "8", "--"),
)
ALL = (*MAIN, AS_PUBLISHED, *FURTHER)
_KNOWN = {(entry.system, entry.variant): entry for entry in ALL}


def entry(system: str, variant: str) -> Entry:
    """The entry of that system and variant; one that is new here is named as the harness names it."""
    plain = Entry(system, variant, f"{system} ({variant})", "#555555", ".")
    return _KNOWN.get((system, variant), plain)
