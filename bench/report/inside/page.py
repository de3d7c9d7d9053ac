"""The whole page, and what the README says."""

import itertools
from pathlib import Path

from bench.report.figures import NOTHING, ranged, three_digits, times, whole
from bench.report.inside.bars import bars
from bench.report.inside.found import FORMS, Found, above, against_batch, one_row
from bench.report.inside.sections import SECTIONS, nanoseconds
from bench.report.markdown import table
from speed.record import CLIENTS, FILE, LARGE, PROTOCOLS, SMALL, Inside, parse

MEASURED = FILE
HEAD = """\
# Inside the database

What predictions add to the queries around them: `make speed`, measured on {date} on {processor} ({cores}
cores, {system}), PostgreSQL {postgresql}, at commit {commit}; raw results in `bench/results/{name}`.

Models are named trees x depth; both have ten features, which are columns of `flights` ({rows} rows,
in memory). What is compared was measured in turn, {repetitions} times unless said. Figures are
medians, with the smallest and largest in brackets; a ratio or a difference is taken within each
repetition.
Settings: {settings}.
"""


PART = """\
Medians on {cores} cores ({processor}), PostgreSQL {postgresql}, {date}, {rows} flights, one process:

{table}

The columns form costs least. Per row, an array takes {array} times as long, a row {row} times; with
jsonb most of the time goes into `to_jsonb`. [docs/benchmarks/inside.md](docs/benchmarks/inside.md) has
all of it, with what was aimed for.
"""


def _read(directory: Path) -> Found:
    return Found(parse((directory / FILE).read_text()))


def _facts(run: Inside) -> dict[str, str]:
    return {
        "date": run.started[:10],
        "processor": run.machine["processor"],
        "cores": run.machine["cores"],
        "system": run.machine["system"],
        "postgresql": run.versions["postgresql"].split()[0],
        "commit": run.commit[:10] + ("+" if run.commit.endswith("+") else ""),
        "rows": whole(run.workload["rows"]),
        "repetitions": str(run.workload["repetitions"]),
        "settings": ", ".join(f"`{name}` {value}" for name, value in run.settings.items()),
    }


def page(directory: Path) -> str:
    """The page's text, from a run's directory."""
    found = _read(directory)
    head = HEAD.format(name=directory.name, **_facts(found.run))
    lines = [bar.cells() for bar in bars(found)]
    parts = [head, "## Targets\n", table(("", "measured", "target", ""), lines) + "\n"]
    for subject, section in SECTIONS.items():
        if found.has(subject):
            parts += section(found)
    return "\n".join(parts).rstrip() + "\n"


def _one_row(found: Found) -> str:
    """The medians' range over protocols and clients."""
    ratios = [one_row(found, *how) for how in itertools.product(PROTOCOLS, CLIENTS)]
    medians = [ratio.median for ratio in ratios if ratio]
    return f"{times(min(medians))} to {times(max(medians))}" if medians else NOTHING


def part(directory: Path) -> str:
    """What the README says of it."""
    found = _read(directory)
    large = f"{LARGE}/columns/on"
    batch = against_batch(found, LARGE, "columns", "on")
    lines = {
        "full scan, columns as arguments, 25 trees of depth 6": (
            f"{nanoseconds(found, f'{SMALL}/columns/on')} ns a row; with"
            f" `array_length(ARRAY[...], 1)` in place of `predict` {nanoseconds(found, 'control')}"
        ),
        "the same, 500 trees of depth 8": (
            f"{nanoseconds(found, large)} ns a row, {ranged(batch, three_digits)} of the time that"
            " XGBoost's own batch takes, of rows in memory, on one thread"
        ),
        "pgbench's one-row query, against the same with `array_length`": (
            f"{_one_row(found)} of its transactions a second, by protocol and clients"
        ),
        "first prediction on a fresh connection, 500 trees of depth 8 loaded by another": (
            f"{ranged(above(found, 'fresh', f'constants/{LARGE}', 'SELECT 1'), three_digits)} ms more than a"
            " first `SELECT 1`"
        ),
    }
    forms = [
        found.ratio("scan", f"{SMALL}/{form}/on", f"{SMALL}/columns/on") for form in FORMS[1:3]
    ]
    array, row = (times(form.median) if form else NOTHING for form in forms)
    return PART.format(
        table=table(("", ""), [*map(list, lines.items())], text_columns=2),
        array=array, row=row, **_facts(found.run),
    )  # fmt: skip
