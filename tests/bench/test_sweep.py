"""The sweep tries what the machine has cores for, takes the best of all, and is found again."""

import json
from dataclasses import asdict, replace
from pathlib import Path

from bench.hosts import local
from bench.opening import on_this_machine
from bench.site import Site
from bench.sweep import KIND, SHORT, Plan, best, delay_of, recorded, sweep
from bench.topology import Topology
from bench.workload import WORKLOADS

QUICK = WORKLOADS["quick"]
PLAN = Plan(workers=(1,), threads=(1, 2), clients=(2,), seconds=1)


def test_pairs_follow_the_cores() -> None:
    assert SHORT.pairs(16) == [(w, t) for w in (16, 32) for t in SHORT.threads]
    assert {workers for workers, _ in Plan((0.5, 1), (2,)).pairs(1)} == {1}


def test_the_best_is_good_at_all_numbers_of_clients() -> None:
    runs = {
        (1, 1): [[10.0, 10.0]],
        (2, 1): [[30.0, 30.0], [1.0, 50.0], [30.0, 30.0]],
        (2, 5): [[1.0, 400.0]],
    }
    assert best(runs) == (2, 1)


def test_a_network_is_swept_at_its_middle_distance() -> None:
    assert delay_of(WORKLOADS["split"].delays_ms) == 0.25
    assert delay_of(QUICK.delays_ms) is None


def test_the_newest_of_the_same_machine_and_topology_is_taken(tmp_path: Path) -> None:
    site = Site(QUICK, on_this_machine(directory=tmp_path), tmp_path)
    facts = local().facts()
    known = {"machine": facts, "topology": "local", "best": {"workers": 3, "threads": 4}}
    others = {
        "2026-01-02-one": known, "2026-01-01-one": known | {"best": {"workers": 9, "threads": 9}},
        "2026-01-03-other": known | {"machine": facts | {"cores": "64"}},
        "2026-01-04-split": known | {"topology": "split"},
        "2026-01-05-old": {name: known[name] for name in ("machine", "best")},
    }  # fmt: skip
    assert recorded([tmp_path], site) is None
    for name, content in others.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{KIND}.json").write_text(json.dumps(content))
    assert recorded([tmp_path], site) == (3, 4)
    host = local()
    assert recorded([tmp_path], replace(site, topology=Topology("aws", host, host, host))) is None


def test_every_pair_is_measured(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    host = local(tmp_path)
    site = Site(replace(QUICK, rows=3_000, keys=100), on_this_machine(directory=tmp_path), tmp_path)
    try:
        found = sweep(site, PLAN)
    finally:
        site.stop()
    assert [(one["workers"], one["threads"]) for one in found["tried"]] == PLAN.pairs(
        int(host.facts()["cores"])
    )
    assert all(run[0] > 0 for one in found["tried"] for run in one["runs"])
    assert found["plan"] == asdict(PLAN)
    assert found["best"]["threads"] in PLAN.threads
