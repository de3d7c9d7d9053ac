"""Docker compose and the hosts of AWS run files of the repository, and send the comparison's requests."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from bench.key_set import HOT
from bench.requests import REQUESTS
from bench.systems.postgres.system import FIRST_WITH_PREPARED, MIN_POOL
from bench.topology import ROLES
from python_baseline.verbs import verbs

ROOT = Path(__file__).resolve().parents[2]
COMPOSE, AWS, PROVISION = (ROOT / "bench" / name for name in ("compose", "aws", "provision"))


def test_defaults_and_dockerfiles_of_compose_are_files() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    named = re.findall(r"file: \"?\$\{\w+:-([^}]+)\}|dockerfile: (\S+)", text)
    paths = [default or dockerfile for default, dockerfile in named]
    assert len(paths) >= 6
    assert [path for path in paths if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("path", sorted(COMPOSE.glob("*/Dockerfile")), ids=str)
def test_what_an_image_copies_is_there(path: Path) -> None:
    text = path.read_text().replace("\\\n", " ")
    words = [line.split()[1:-1] for line in re.findall(r"^COPY .*", text, re.MULTILINE)]
    own = (line for line in words if not line[0].startswith("--from"))
    copied = [name for line in own for name in line if not name.startswith("--")]
    copied += re.findall(r"type=bind,source=([^,\s]+)", text)
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_the_request_of_composes_page_is_one_of_the_comparison() -> None:
    (body, path) = re.search(
        r"^curl .* -d '(.*)' http://127\.0\.0\.1:18000(/\S*)$",
        (COMPOSE / "README.md").read_text(), re.MULTILINE,
    ).groups()  # fmt: skip
    assert (path, tuple(json.loads(body))) == (REQUESTS["random"].path, HOT)
    assert path in verbs(1)


def test_the_pooler_and_the_service_of_compose_are_those_of_the_comparison(tmp_path: Path) -> None:
    assert '"python_baseline", "tuned"' in (COMPOSE / "python" / "Dockerfile").read_text()
    script = (COMPOSE / "pgbouncer" / "entry.sh").read_text()
    script = script.replace("/run/pgbouncer", str(tmp_path)).replace("exec pgbouncer", "#")
    environment = os.environ | {"PGBOOST_PASSWORD": "x"}
    for version, prepares in (("1.18.0", False), ("1.21.0", True), ("1.24.1", True)):
        pooler = f'pgbouncer() {{ echo "PgBouncer {version}"; }}\n'
        subprocess.run(["sh", "-c", pooler + script], check=True, env=environment)
        lines = (tmp_path / "pgbouncer.ini").read_text().splitlines()
        assert {"pool_mode = transaction", f"default_pool_size = {MIN_POOL}"} <= {*lines}
        assert ("max_prepared_statements = 200" in lines) == prepares
        assert prepares == (tuple(map(int, version.split(".")[:2])) >= FIRST_WITH_PREPARED)


def test_hosts_of_aws_are_measured_by_the_harness_with_what_generators_and_services_need() -> None:
    """The harness runs as a user who may have no compiler, so that root builds what it would build."""
    assert '"$root/bench/run" --topology "$topology" "$@"' in (AWS / "run").read_text()
    script = (PROVISION / "host.sh").read_text()
    scripts = dict(re.findall(r"^(\w+)\(\) {\n(.*?)^}", script, re.M | re.S))
    assert {*ROLES} <= scripts.keys()
    assert "bench-packages venv" in scripts["client"]
    assert "tools/toolchain/vegeta.sh" in scripts["client"]
    assert "bench-install" in scripts["server"]
    makefile = (ROOT / "Makefile").read_text()
    for build in sorted((ROOT / "bench" / "systems").glob("*/build.sh")):
        name = str(build.relative_to(ROOT))
        built = name in scripts["server"] or re.search(rf"^bench-\w+:\n\t@{name}$", makefile, re.M)
        assert built and "command -v cargo" in build.read_text(), name
