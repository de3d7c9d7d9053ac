"""Compares the engine's explanations with those of each model's library and of shap.

The input is explanations.jsonl and machine.json of `extension/gbtrees/benches/grid/explanations.py`. A ratio
is that of the medians of two sides that were measured interleaved, for the same model and call.
"""

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bench.report.figures import WAYS

FILE = "explanations.jsonl"
ENGINE = "gbdt "
# The kernels with VBMI and without.
AVX512 = (f"{ENGINE}avx512", f"{ENGINE}avx512bw")
CONTRIBUTIONS, INTERACTIONS = "contributions", "interactions"


class Call(NamedTuple):
    """A model, the kind of explanation, and the rows per call."""

    model: str
    what: str
    rows: int


# Nanoseconds of CPU time per row in each repetition, by call and side.
Times = dict[Call, dict[str, list[float]]]


BATCH = 2048


def read(path: Path) -> tuple[Times, dict[str, float]]:
    """Returns all times, and by package the largest relative deviation of its contributions from ours."""
    times, apart = {}, {}
    for line in map(json.loads, path.read_text().splitlines()):
        call = Call(line["model"], line["what"], line["rows"])
        times.setdefault(call, {})[line["side"]] = line["ns_a_row"]
        package = line["side"].split()[0]
        apart[package] = max(apart.get(package, 0), line.get("apart", 0))
    return times, {package: most for package, most in apart.items() if most}


Ratios = dict[tuple[Call, str, str], float]


def is_shap(side: str) -> bool:
    """Whether a side is shap."""
    return side.startswith("shap ")


def is_library(side: str) -> bool:
    """Whether a side is the model's library."""
    return not side.startswith(ENGINE) and not is_shap(side)


def ratios(times: Times) -> Ratios:
    """Returns a kernel's speed relative to another side's, by call, kernel and side."""
    return {
        (call, ours, theirs): statistics.median(ns) / statistics.median(sides[ours])
        for call, sides in times.items()
        for theirs, ns in sides.items()
        for ours in sides
        if ours.startswith(ENGINE) and not theirs.startswith(ENGINE)
    }


def table(run: Path) -> list[list[Any]]:
    """Returns every cell, below a header, for the data that engine.md links."""
    times, _ = read(run / FILE)
    head = ["model", "what", "rows_per_call", "side", "ns_per_row", "least", "most"]
    figures = (statistics.median, min, max)
    return [head] + [
        [*call, side, *(f"{figure(ns):.0f}" for figure in figures)]
        for call, sides in times.items()
        for side, ns in sides.items()
    ]


def given(run: Path) -> dict[str, Any]:
    """Returns the template's variables from a run's directory."""
    times, apart = read(run / FILE)
    every = ratios(times)
    found = {key: ratio for key, ratio in every.items() if is_library(key[2])}
    kernels = list(dict.fromkeys(kernel for _, kernel, _ in every))
    # Both use the same instructions for explanations, so one is shown.
    if {*AVX512} <= {*kernels}:
        kernels.remove(AVX512[1])
    return {
        "machine": json.loads((run / "machine.json").read_text()), "apart": apart,
        "peers": sorted({peer for _, _, peer in every}), "first": kernels[0].removeprefix(ENGINE),
        "models": list(dict.fromkeys(call.model for call in times)), "header": _header(kernels),
        "lines": _lines(times, every, kernels), "cells": found, "least": min(found.values()),
        "lost": [ratio for ratio in found.values() if ratio < 1], "BATCH": BATCH,
        "medians": {
            (rows, kernel.removeprefix(ENGINE)): statistics.median(
                ratio for (call, ours, _), ratio in found.items()
                if (call.what, call.rows, ours) == (CONTRIBUTIONS, rows, kernel)
            )
            for kernel in kernels
            for rows in dict.fromkeys(call.rows for call in times if call.what == CONTRIBUTIONS)
        },
    }  # fmt: skip


def _header(kernels: list[str]) -> list[str]:
    short = [kernel.removeprefix(ENGINE) for kernel in kernels]
    return ["model", *(f"{name}, us" for name in short), "library, us",
            *(f"{name}, times" for name in short), f"{short[0]}, times shap", "16 rows, us", "times",
            "one row, us", "times", "interactions, times"]  # fmt: skip


def _lines(times: Times, found: Ratios, kernels: list[str]) -> list[list[str]]:
    """Returns the table: microseconds per row and ratios, of the first kernel unless the header names one."""

    def taken(call: Call, is_side: Callable[[str], bool]) -> str:
        sides = [side for side in times.get(call, ()) if is_side(side)]
        return WAYS["three"](statistics.median(times[call][sides[0]]) / 1e3) if sides else "-"

    def ratio(call: Call, kernel: str, is_peer: Callable[[str], bool] = is_library) -> str:
        ratios = [
            one for key, one in found.items() if key[:2] == (call, kernel) and is_peer(key[2])
        ]
        return WAYS["times"](ratios[0]) if ratios else "-"

    first, lines = kernels[0], []
    for model in dict.fromkeys(call.model for call in times):
        batch, few, one = (Call(model, CONTRIBUTIONS, rows) for rows in (BATCH, 16, 1))
        lines.append([
            model, *(taken(batch, kernel.__eq__) for kernel in kernels), taken(batch, is_library),
            *(ratio(batch, kernel) for kernel in kernels), ratio(batch, first, is_shap),
            taken(few, first.__eq__), ratio(few, first), taken(one, first.__eq__), ratio(one, first),
            ratio(Call(model, INTERACTIONS, 256), first),
        ])  # fmt: skip
    return lines
