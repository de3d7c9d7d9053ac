"""The page of the engine, and the tables behind it: of each of its parts the newest record.

Parts are measured apart, on the machine that each names: scores, explanations, and queries.
"""

import csv
import io
from typing import Any

from bench.report import explanations, queries, scores
from bench.report.files import Sources, newest

PARTS = {"scores": scores, "explanations": explanations, "queries": queries}


def given(sources: Sources) -> dict[str, Any]:
    """What the page's template shows; a part without a record is empty."""
    runs = {name: newest(sources.directory, part.FILE) for name, part in PARTS.items()}
    return {
        name: PARTS[name].given(run) | {"name": str(run.relative_to(sources.directory))}
        if run
        else {}
        for name, run in runs.items()
    }


def data(sources: Sources) -> dict[str, str]:
    """Every measured cell of each part, as CSV, by the name of the file."""
    files = {}
    for name, part in PARTS.items():
        if run := newest(sources.directory, part.FILE):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(part.table(run))
            files[f"{name}.csv"] = text.getvalue()
    return files
