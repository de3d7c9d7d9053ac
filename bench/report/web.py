"""The data of the page to look at: results.js beside docs/benchmarks/index.html.

A script and not JSON, for a page that is opened as a file may not fetch. It has every committed run, that
of the pages first, a cell per line: each figure as its median, the smallest and the largest.
"""

import contextlib
import json
from typing import Any

from bench.report.figures import readable
from bench.report.files import Sources, newest
from bench.report.measured import Measured, entry, held, values
from bench.report.pictures import APART
from bench.results import LATENCIES, CellResult, Spread

# As many digits as the tables may have; more would be noise and bytes.
DIGITS = 7
# What the page calls a figure.
FIGURES = {"answered": "rate", "us": "us", "mb": "mb"} | {name: name for name in LATENCIES}


def _short(value: float) -> float:
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() else short


def _numbers(cell: CellResult, figure: str) -> list[float]:
    return [_short(value) for value in vars(Spread.of(values(cell, figure))).values()]


def _cell(cell: CellResult) -> dict[str, Any]:
    if not cell.runs:
        return {"skipped": cell.skipped or "no run"}
    found: dict[str, Any] = {"runs": len(cell.runs)}
    for name, figure in FIGURES.items():
        with contextlib.suppress(KeyError):
            found[name] = _numbers(cell, figure)
    found["parts"] = {
        part: {name: _numbers(cell, f"{name} of {part}")[0] for name in ("us", "mb")}
        for part in cell.runs[0].server_parts
    }
    found |= {"starved": len(cell.starved)} if cell.starved else {}
    return found | ({} if held(cell) else {"held": False})


def _run(measured: Measured) -> dict[str, Any]:
    result, facts = measured.result, measured.facts
    known = [readable(facts[name]) for name in ("system", "kernel", "memory") if name in facts]
    return {
        "name": measured.name, "started": result.started, "commit": result.commit,
        "topology": result.topology.name, "processor": facts["processor"], "cores": facts["cores"],
        "machine": ", ".join(known), "workload": result.workload["name"],
        **{name: result.workload[name] for name in ("rows", "repetitions", "seconds")},
    }  # fmt: skip


def script(sources: Sources) -> str:
    """The file."""
    systems, lines = {}, []
    for one in sources.all:
        for cell in one.result.cells:
            of = entry(cell.system, cell.variant)
            look = {"label": of.label, "colour": of.colour, "side": of.side, "what": of.what}
            systems[f"{cell.system}/{cell.variant}"] = look
        head = json.dumps(_run(one))[:-1]
        cells = (f"{json.dumps(cell.name)}: {json.dumps(_cell(cell))}" for cell in one.result.cells)
        lines.append(head + ', "cells": {\n' + ",\n".join(cells) + "\n}}")
    everything = ",\n".join(lines)
    drawn = [
        {"name": name, "shows": shows}
        for name, (file, _, shows) in APART.items()
        if newest(sources.directory, file)
    ]
    return (
        "// Made by make report from bench/results: the medians of all committed runs for index.html.\n"
        f'window.RESULTS = {{"systems": {json.dumps(systems, indent=0)},\n'
        f'"pictures": {json.dumps(drawn)},\n"runs": [{everything}]}};\n'
    )
