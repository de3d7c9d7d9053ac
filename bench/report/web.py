"""Generates results.js, the data of docs/benchmarks/index.html.

It is a script, because a page opened as a file may not fetch JSON. It has the sentence of README.md, and the
runs that pages are made from, a cell per line: each figure as its median, the smallest and the largest.
"""

import json
from typing import Any

from bench.report import headline
from bench.report.files import Sources
from bench.report.measured import Measured, RequestSpec, entry, held, spread
from bench.results import LATENCIES, CellResult, Spread
from bench.systems.description import GROUPS

# The request whose rivals index.html shows first.
MAIN = RequestSpec()
# More digits would be noise.
DIGITS = 7
# The page's names of figures.
FIGURES = {"answered": "rate", "us": "us", "mb": "mb"} | {name: name for name in LATENCIES}


def _short(value: float) -> float:
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() else short


def _numbers(of: Spread) -> list[float]:
    return [*map(_short, (of.median, of.smallest, of.largest))]


def _cell(cell: CellResult) -> dict[str, Any]:
    if not cell.runs:
        return {"skipped": cell.skipped or "no run"}
    found: dict[str, Any] = {"runs": len(cell.runs)}
    for name, figure in FIGURES.items():
        if known := spread(cell, figure):
            found[name] = _numbers(known)
    found["parts"] = {
        part: {name: _short(spread(cell, f"{name} of {part}").median) for name in ("us", "mb")}
        for part in cell.runs[0].server_parts
    }
    found |= {"starved": len(cell.starved)} if cell.starved else {}
    if cell.rate:
        found["held"] = [sum(run.open_loop.kept_up for run in cell.runs), len(cell.runs)]
    return found | ({} if held(cell) else {"missed": True})


def _run(measured: Measured) -> dict[str, Any]:
    result, facts = measured.result, measured.facts
    memory = int(facts["memory"].removesuffix(" kB")) / 1024**2
    return {
        "name": " ".join(measured.names), "pooled": len(measured.names),
        "started": result.started, "commit": result.commit,
        "topology": result.topology.name, "processor": facts["processor"], "cores": facts["cores"],
        "machine": f"{facts['system']}, {facts['kernel']}, {memory:.1f} GiB",
        "workload": result.workload["name"],
        **{name: result.workload[name] for name in ("rows", "repetitions", "seconds")},
    }  # fmt: skip


def script(sources: Sources) -> str:
    """Returns the text of results.js."""
    systems, lines = {}, []
    first = {headline.SIMPLE, headline.PREPARED, *headline.rivals(sources.local, MAIN).values()}
    for one in filter(None, (sources.local, sources.split)):
        for cell in one.result.cells:
            of = entry(cell.system, cell.variant)
            look = {name: getattr(of, name) for name in ("label", "side", "group", "what")}
            systems[f"{cell.system}/{cell.variant}"] = look | {"first": of in first}
        head = json.dumps(_run(one))[:-1]
        cells = (f"{json.dumps(cell.name)}: {json.dumps(_cell(cell))}" for cell in one.result.cells)
        lines.append(head + ', "cells": {\n' + ",\n".join(cells) + "\n}}")
    everything = ",\n".join(lines)
    groups = json.dumps([one for side in GROUPS.values() for one in side])
    said = json.dumps(headline.answer(sources.local), ensure_ascii=False)
    return (
        "// Made by make report from bench/results: the medians of the runs of the pages for index.html.\n"
        f'window.RESULTS = {{"answer": {said},\n"systems": {json.dumps(systems, indent=0)},\n'
        f'"groups": {groups},\n"runs": [{everything}]}};\n'
    )
