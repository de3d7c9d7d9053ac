"""A made-up run of `make speed`, with simple figures."""

from typing import Any

from bench.inside.series import Subject, subject

LABELS = ("25x6", "500x8")


def _scan() -> Subject:
    series = {
        "plain": [0.05, 0.05, 0.06],
        "control": [0.1, 0.11, 0.12],
        "jsonb control": [1.0, 1.1, 1.2],
    }
    for label, batch in zip(LABELS, (0.2, 4.0), strict=True):
        series[f"xgboost/{label}"] = [batch] * 3
        for place, form in enumerate(("columns", "array", "row", "jsonb"), start=1):
            series[f"{label}/{form}/on"] = [0.11 * place, 0.11 * place, 0.12 * place]
            series[f"{label}/{form}/off"] = [0.22 * place, 0.22 * place, 0.24 * place]
    return subject("s", series)


def _statements() -> Subject:
    series = {}
    for name in ("avg", "where", "insert", "create"):
        series[f"{name}/control"] = [0.1, 0.1, 0.1]
        for label in LABELS:
            series |= {f"{name}/{label}/on": [0.11] * 3, f"{name}/{label}/off": [0.3] * 3}
    return subject("s", series)


def _fresh(load: float) -> tuple[Subject, Subject]:
    seconds = {"SELECT 1": [0.0002] * 3, "table": [0.0005] * 3}
    memory = {"SELECT 1": [1024.0 * 1000] * 3, "table": [1024.0 * 1100] * 3}
    for label in LABELS:
        for kind in ("constants", "table"):
            seconds[f"{kind}/{label}"] = [0.0002 + load, 0.0002 + 2 * load, 0.0002 + 3 * load]
            memory[f"{kind}/{label}"] = [1024.0 * 1200] * 3
    return subject("s", seconds), subject("bytes", memory)


def inside() -> dict[str, Any]:
    """Returns the run."""
    workers = {
        f"{name}/{way}": [seconds] * 3
        for name in ("control", *LABELS)
        for way, seconds in (("1", 0.2), ("2", 0.1), ("alone", 0.2), ("together", 0.25))
    }
    one_row = {
        f"{protocol}/{clients}/{name}": [rate] * 3
        for protocol in ("simple", "prepared")
        for clients in (1, 5, 20)
        for name, rate in (("predict", 9_800.0), ("control", 10_000.0))
    }
    one_row |= {
        f"{protocol}/5/{form}{name}": [rate] * 3
        for protocol in ("simple", "prepared")
        for form in ("row", "jsonb")
        for name, rate in (("", 9_100.0), (" control", 10_000.0))
    }
    deploys = {
        "rest": [0.01] * 3, "deploy_model": [0.02, 0.03, 0.04], "load_model": [0.06, 0.07, 0.08],
        "deploy_model itself": [0.001] * 3, "load_model itself": [0.5] * 3,
    }  # fmt: skip
    stale = {}
    for name in ("rest", "deploy_model", "load_model"):
        stale |= {name: [0.0] * 3, f"{name}, statements": [1_000.0] * 3}
    image = 4_096_000
    copies = {
        "sum/control": [10_000_000.0] * 3, "sum/25x6": [14_096_000.0] * 3,
        "sum/500x8": [10_000_000.0 + 3 * image] * 3, "private/control": [1024.0 * 1000] * 3,
        "private/25x6": [1024.0 * 1100] * 3, "private/500x8": [1024.0 * 1150] * 3,
    }  # fmt: skip
    fresh, memory = _fresh(0.001)
    preloaded, preloaded_memory = _fresh(0.0002)
    workers_first = {"control": [0.003] * 3, "25x6": [0.0034] * 3, "500x8": [0.004] * 3}
    return {
        "schema": 1, "started": "2026-01-05T10:00:00+00:00", "finished": "2026-01-05T10:09:00+00:00",
        "commit": "0123456789abcdef",
        "machine": {"processor": "Made-up Processor", "cores": "2", "system": "Debian"},
        "versions": {"postgresql": "15.99 (Debian)", "pgboost": "0.1.0", "xgboost": "3.4.1"},
        "settings": {"jit": "on", "shared_buffers": "512MB"},
        "workload": {
            "repetitions": 3, "fresh": 3, "together": 40, "asking": 4, "rounds": 9, "rows": 1_000_000,
        },
        "models": {
            label: {"trees": trees, "depth": depth, "file_bytes": file, "image_bytes": size}
            for label, trees, depth, file, size in (
                ("25x6", 25, 6, 100_000, 64_000), ("500x8", 500, 8, 8_000_000, image)
            )
        },
        "subjects": {
            "scan": _scan(),
            "workers": subject("s", workers),
            "statements": _statements(),
            "one row": subject("transactions/s", one_row),
            "deploys": subject("s", deploys),
            "stale": subject("count", stale),
            "copies": subject("bytes", copies),
            "fresh": fresh,
            "fresh memory": memory,
            "fresh workers": subject("s", workers_first),
            "preloaded": preloaded,
            "preloaded memory": preloaded_memory,
            "preloaded workers": subject("s", workers_first),
            "preloaded copies": subject("bytes", copies),
        },
    }  # fmt: skip
