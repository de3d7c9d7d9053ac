"""The data of the page to look at: results.js beside docs/benchmarks/index.html.

A script and not JSON, for a page that is opened as a file may not fetch. It has every committed run, that of
the pages first, a cell per line: each figure as its median, the smallest and the largest.
"""

import json
from typing import Any

from bench.report.entries import POSTGRES, entry
from bench.report.figures import readable
from bench.report.files import Sources
from bench.report.measured import COMPARED, Measured, asked_of
from bench.results import CellResult, Run, Spread

# As many digits as the tables may have; more would be noise and bytes.
DIGITS = 7


def _numbers(values: list[float]) -> list[float]:
    found = Spread.of(values)
    shown = (found.median, found.smallest, found.largest)
    return [
        int(short) if (short := float(f"{value:.{DIGITS}g}")).is_integer() else short
        for value in shown
    ]


def _parts(runs: list[Run]) -> dict[str, dict[str, float]]:
    return {
        name: {
            "us": _numbers(
                [run.server_parts[name].cpu_seconds * 1e6 / run.requests for run in runs]
            )[0],
            "mb": _numbers([run.server_parts[name].pss_bytes / 1e6 for run in runs])[0],
        }
        for name in runs[0].server_parts
        if all(name in run.server_parts for run in runs)
    }


def _cell(measured: Measured, cell: CellResult) -> dict[str, Any]:
    if not cell.runs:
        return {"skipped": cell.skipped or "no run"}
    of, asked = entry(cell.system, cell.variant), asked_of(cell)
    found: dict[str, Any] = {"runs": len(cell.runs)}
    for name, figure in COMPARED.items():
        if measured.spread(of, asked, figure):
            found["answered" if name == "rate" else name] = _numbers(
                [figure(run) for run in cell.runs]
            )
    if parts := _parts(cell.runs):
        found["parts"] = parts
    if cell.starved:
        found["starved"] = len(cell.starved)
    if not measured.held(of, asked):
        found["held"] = False
    return found


def _run(measured: Measured) -> dict[str, Any]:
    result = measured.result
    facts = result.topology.hosts[result.topology.roles["server"]]
    machine = ", ".join(
        readable(facts[name]) for name in ("system", "kernel", "memory") if name in facts
    )
    return {
        "name": measured.name, "started": result.started, "commit": result.commit,
        "topology": result.topology.name, "processor": facts["processor"], "cores": facts["cores"],
        "machine": machine, "workload": result.workload["name"], "rows": result.workload["rows"],
        "repetitions": result.workload["repetitions"], "seconds": result.workload["seconds"],
    }  # fmt: skip


def script(sources: Sources) -> str:
    """The file."""
    systems, lines = {}, []
    for one in sources.all:
        for cell in one.result.cells:
            of = entry(cell.system, cell.variant)
            side = "postgres" if of.side == POSTGRES else "service"
            look = {"label": of.label, "colour": of.colour, "side": side}
            systems[f"{cell.system}/{cell.variant}"] = look
        head = json.dumps(_run(one))[:-1]
        cells = (
            f"{json.dumps(cell.name)}: {json.dumps(_cell(one, cell))}" for cell in one.result.cells
        )
        lines.append(head + ', "cells": {\n' + ",\n".join(cells) + "\n}}")
    return (
        "// Made by make report from bench/results: the medians of all committed runs for index.html.\n"
        f'window.RESULTS = {{"systems": {json.dumps(systems, indent=0)},\n"runs": ['
        + ",\n".join(lines)
        + "]};\n"
    )
