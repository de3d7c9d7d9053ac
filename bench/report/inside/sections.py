"""The page's sections, each from a subject of the run."""

import itertools
from collections.abc import Callable

from bench.report.figures import NOTHING, ranged, three_digits, times, whole
from bench.report.inside.found import (
    COLUMNS,
    FORMS,
    Found,
    above,
    added_to_scan,
    against_batch,
    in_images,
    middle,
    one_row,
    one_row_series,
    speedup,
    spread_of,
    two_connections,
)
from bench.report.markdown import table
from speed.record import (
    BATCHES,
    CLIENTS,
    LARGE,
    OTHER_CLIENTS,
    OTHER_FORMS,
    PROTOCOLS,
    SMALL,
)

STATEMENTS = {
    "avg": "`SELECT avg(...)`",
    "where": "`SELECT sum(...) WHERE`, a tenth of the rows",
    "insert": "`INSERT ... SELECT`",
    "create": "`CREATE TABLE AS`",
}


def nanoseconds(found: Found, series: str) -> str:
    return ranged(found.spread("scan", series, 1e9 / found.run.workload["rows"]), whole)


def _scans(found: Found, label: str) -> str:
    rows = [
        ["the plain scan", nanoseconds(found, "plain"), "", ""],
        ["`array_length(ARRAY[...], 1)`", nanoseconds(found, "control"), "", ""],
    ]
    for form in FORMS:
        for batch in BATCHES:
            series = f"{label}/{form}/{batch}"
            row = [f"{form}, batches {batch}", nanoseconds(found, series)]
            row.append(ranged(found.ratio("scan", series, "control"), times))
            row.append(ranged(against_batch(found, label, form, batch), three_digits))
            rows.append(row)
    rows.insert(-2, ["`pg_column_size(to_jsonb(f))`", nanoseconds(found, "jsonb control"), "", ""])
    rows.append(["XGBoost's `inplace_predict`", nanoseconds(found, f"xgboost/{label}"), "", ""])
    header = ("", "ns a row", "times `array_length`", "times XGBoost's batch")
    return f"{label}:\n\n" + table(header, rows) + "\n"


def _scan(found: Found) -> list[str]:
    added = {
        label: ranged(added_to_scan(found, label, "columns", "on"), three_digits)
        for label in (SMALL, LARGE)
    }
    return [
        "## A full scan, one process\n",
        "`SELECT sum(predict(...)) FROM flights f` with each form of the arguments, and the cheapest\n"
        "function of the same ten columns in its place; the plain scan counts the last column.\n"
        f"XGBoost {found.run.versions['xgboost']} predicts for the same rows, all at once,\n"
        "as f32 in memory, on one thread; before anything was timed, both gave the same bits.\n",
        _scans(found, SMALL),
        _scans(found, LARGE),
        "What `predict` adds to the plain scan, columns and batches, is "
        f"{added[SMALL]} of XGBoost's batch at 25x6 and {added[LARGE]} at 500x8.\n",
    ]


def _workers(found: Found) -> list[str]:
    rows = []
    for name, text in (("control", "`array_length`"), (SMALL, SMALL), (LARGE, LARGE)):
        cells = [
            ranged(
                found.spread("workers", f"{name}/{count}", 1e9 / found.run.workload["rows"]), whole
            )
            for count in (1, 2)
        ]
        ratios = [ranged(ratio(found, name), times) for ratio in (speedup, two_connections)]
        rows.append([text, *cells, *ratios])
    header = (
        "", "one worker, ns a row", "two workers, ns a row", "times as fast",
        "two connections against one",
    )  # fmt: skip
    return [
        "## Parallel workers\n",
        "The same scan by one worker and by two, columns as arguments. The leader only collects\n"
        "(`parallel_leader_participation` is off). Each query starts its workers anew, and each meets\n"
        "every page of shared memory for the first time. The control does so too: it tells what the machine\n"
        "and PostgreSQL leave of the second worker. Two connections that scan at once, each all rows in one\n"
        "process, tell what the machine alone leaves: twice the time of one, divided by that of both.\n",
        table(header, rows) + "\n",
    ]  # fmt: skip


def _statements(found: Found) -> list[str]:
    rows = []
    for name, text in STATEMENTS.items():
        control = f"{name}/control"
        rows.append([text, "`array_length`", "", _ms(found, "statements", control), ""])
        for label in (SMALL, LARGE):
            for batch in BATCHES:
                series = f"{name}/{label}/{batch}"
                ratio = ranged(found.ratio("statements", series, control), times)
                rows.append([text, label, batch, _ms(found, "statements", series), ratio])
    header = ("statement", "model", "batches", "ms", "times `array_length`")
    return ["## Whole statements, one process\n", table(header, rows, text_columns=3) + "\n"]


def _ms(found: Found, subject: str, series: str) -> str:
    return ranged(found.spread(subject, series, 1e3), three_digits)


def _one_row(found: Found) -> list[str]:
    ways = [(COLUMNS, clients) for clients in CLIENTS]
    ways += [(form, OTHER_CLIENTS) for form in OTHER_FORMS]
    rows = []
    for protocol, (form, clients) in itertools.product(PROTOCOLS, ways):
        names = one_row_series(protocol, clients, form)
        cells = [ranged(found.spread("one row", name), whole) for name in names]
        ratio = ranged(one_row(found, protocol, clients, form), times)
        rows.append([form, protocol, str(clients), *cells, ratio])
    header = ("form", "protocol", "clients", "predict", "without", "ratio")
    text = (
        "The benchmark's query by pgbench, 25x6, transactions a second,\n"
        f"{found.run.workload['rounds']} runs of each in turn. Without predict it has the cheapest function\n"
        "of the same: `array_length` of the columns, `pg_column_size` of the row or of the jsonb.\n"
    )
    return ["## One row\n", text, table(header, rows, text_columns=2) + "\n"]


def _deploys(found: Found) -> list[str]:
    rows = []
    for name, text in (
        ("rest", "nothing else happens"),
        ("deploy_model", "`deploy_model`, between two versions"),
        ("load_model", "`load_model`, a new version of 500x8"),
    ):
        itself = f"{name} itself"
        rows.append([
            text, _ms(found, "deploys", name), _ms(found, "deploys", itself),
            whole(sum(found.values("stale", f"{name}, statements"))),
            whole(sum(found.values("stale", name))),
        ])  # fmt: skip
    header = ("meanwhile", "longest statement, ms", "itself, ms", "statements", "stale answers")
    return [
        "## Deploying under load\n",
        f"{found.run.workload['asking']} connections predict in a loop while another changes the model.\n"
        "The longest statement that began in a span of any of them, the scheduling of all these\n"
        "processes on the cores included. An answer is stale if its statement began after the commit\n"
        "had returned and it is another version's.\n",
        table(header, rows) + "\n",
    ]  # fmt: skip


def _copies_section(found: Found) -> list[str]:
    model = found.run.models[LARGE]
    rows = [
        [
            library, text,
            *(_kilobytes(found, subject, f"{figure}/{name}") for figure in ("sum", "private")),
        ]
        for subject, library in (("copies", "loaded"), ("preloaded copies", "preloaded"))
        for name, text in (
            ("control", "without predict"),
            (SMALL, "with predict, 25x6"),
            (LARGE, "with predict, 500x8"),
        )
    ]  # fmt: skip
    own = spread_of(found.more("copies", f"private/{LARGE}", "private/control", 1 / 1024))
    return [
        "## One copy\n",
        f"{found.run.workload['together']} connections that have each run the one-row query. The model's\n"
        f"image has {whole(model.image_bytes / 1024)} kB. The sum of their proportional set sizes grows by\n"
        f"{ranged(in_images(found), times)} images, of which the private memory of each connection is\n"
        f"{ranged(own, whole)} kB: the library's own, PostgreSQL's caches of its catalogs.\n"
        "Above as many that predict with 25x6 it grows by\n"
        f"{ranged(in_images(found, SMALL), times)} images. With `shared_preload_libraries = 'pgboost'` what\n"
        "loading the library makes private is shared, and it grows by\n"
        f"{ranged(in_images(found, subject='preloaded copies'), times)} images.\n",
        table(("library", "", "sum of Pss, kB", "private, each, kB"), rows, text_columns=2) + "\n",
    ]


def _kilobytes(found: Found, subject: str, series: str) -> str:
    return ranged(found.spread(subject, series, 1 / 1024), whole)


def _fresh_rows(found: Found, subject: str) -> list[list[str]]:
    rows = []
    for series, text in (
        ("SELECT 1", "`SELECT 1`"),
        ("table", "one row of the table, `array_length`"),
        (f"constants/{SMALL}", f"predict of constants, {SMALL}"),
        (f"constants/{LARGE}", f"predict of constants, {LARGE}"),
        (f"table/{SMALL}", f"predict of one row of the table, {SMALL}"),
        (f"table/{LARGE}", f"predict of one row of the table, {LARGE}"),
    ):
        took = middle([value * 1e3 for value in found.values(subject, series)])
        above = NOTHING if series == "SELECT 1" else _above(found, subject, series, "SELECT 1")
        table_above = _above(found, subject, series, "table") if "table/" in series else NOTHING
        memory = middle(found.more(f"{subject} memory", series, "SELECT 1", 1 / 1024))
        more = NOTHING if series == "SELECT 1" else ranged(memory, whole)
        rows.append([text, ranged(took, three_digits), above, table_above, more])
    return rows


def _above(found: Found, subject: str, series: str, than: str) -> str:
    return ranged(above(found, subject, series, than), three_digits)


def _fresh(found: Found) -> list[str]:
    header = (
        "first statement",
        "ms",
        "above `SELECT 1`",
        "above `array_length`",
        "private, kB more",
    )
    parts = [
        "## First predictions\n",
        f"The first statement of {found.run.workload['fresh']} fresh connections of each kind, the image\n"
        "being there; connecting is not counted. In brackets is the middle half.\n",
    ]
    for subject, text in (
        ("fresh", "The library is loaded by the first prediction:\n"),
        ("preloaded", "With `shared_preload_libraries = 'pgboost'`, which is not needed:\n"),
    ):
        if found.has(subject):
            parts += [text, table(header, _fresh_rows(found, subject)) + "\n"]
    return parts + _fresh_workers(found)


def _fresh_workers(found: Found) -> list[str]:
    rows = []
    for subject, text in (("fresh workers", "loaded"), ("preloaded workers", "preloaded")):
        for series in ("control", SMALL, LARGE) if found.has(subject) else ():
            took = middle([value * 1e3 for value in found.values(subject, series)])
            above = NOTHING if series == "control" else _above(found, subject, series, "control")
            name = "`array_length`" if series == "control" else series
            rows.append([text, name, ranged(took, three_digits), above])
    return [
        "A parallel query over a few rows by one worker, which is started for it and predicts for the\n"
        "first time. The connection of the control has never loaded the library, nor do its workers.\n",
        table(("library", "expression", "ms", "above `array_length`"), rows, text_columns=2) + "\n",
    ]  # fmt: skip


SECTIONS: dict[str, Callable[[Found], list[str]]] = {
    "scan": _scan,
    "workers": _workers,
    "statements": _statements,
    "one row": _one_row,
    "deploys": _deploys,
    "copies": _copies_section,
    "fresh": _fresh,
}
