"""Files that docker-compose.yml and the images name are in the repository."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_defaults_and_dockerfiles_of_compose_are_files() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    named = re.findall(r"file: \"?\$\{\w+:-([^}]+)\}|dockerfile: (\S+)", text)
    paths = [default or dockerfile for default, dockerfile in named]
    assert len(paths) >= 6
    assert [path for path in paths if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("bench/compose/*/Dockerfile")), ids=str)
def test_what_an_image_copies_is_there(path: Path) -> None:
    text = path.read_text().replace("\\\n", " ")
    words = [line.split()[1:-1] for line in re.findall(r"^COPY .*", text, re.MULTILINE)]
    own = (line for line in words if not line[0].startswith("--from"))
    copied = [name for line in own for name in line if not name.startswith("--")]
    copied += re.findall(r"type=bind,source=([^,\s]+)", text)
    assert [name for name in copied if not (ROOT / name).exists()] == []
