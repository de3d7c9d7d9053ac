"""The variables of the engine's page and its CSV tables, from the newest record of each part.

Scores, explanations and queries are measured separately, on the machine that each record names.
"""

import csv
import io
from typing import Any

from bench.report import explanations, queries, scores
from bench.report.files import Sources, newest

PARTS = {"scores": scores, "explanations": explanations, "queries": queries}


def given(sources: Sources) -> dict[str, Any]:
    """Returns the template's variables; a part without a record is empty."""
    runs = {name: newest(sources.directory, part.FILE) for name, part in PARTS.items()}
    return {
        name: PARTS[name].given(run) | {"name": str(run.relative_to(sources.directory))}
        if run
        else {}
        for name, run in runs.items()
    }


def data(sources: Sources) -> dict[str, str]:
    """Returns the CSV files of all measured cells, by their names."""
    files = {}
    for name, part in PARTS.items():
        if run := newest(sources.directory, part.FILE):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(part.table(run))
            files[f"{name}.csv"] = text.getvalue()
    return files
