"""Actions in .github/workflows are pinned by their commits, and their jobs are complete."""

import re
from pathlib import Path

import pytest
import yaml

WORKFLOWS = Path(__file__).resolve().parents[3] / ".github" / "workflows"
USES = re.compile(r"uses: *(.*)")
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def test_actions_are_pinned_by_commit() -> None:
    actions = [a for path in WORKFLOWS.glob("*.yml") for a in USES.findall(path.read_text())]
    assert actions
    assert [action for action in actions if not PINNED.fullmatch(action)] == []


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_every_job_has_steps_and_existing_needs(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text())["jobs"]
    for job in jobs.values():
        assert job["steps"] and {*job.get("needs", ())} <= {*jobs}


def test_a_release_has_packages_images_and_wheels() -> None:
    jobs = yaml.safe_load((WORKFLOWS / "package.yml").read_text())["jobs"]
    ran = {name: [step.get("run", "") for step in job["steps"]] for name, job in jobs.items()}
    assert (
        {*jobs["release"]["needs"]} == {*jobs} - {"release"} == {"deb", "image", "wheel", "engine"}
    )
    assert any("tools/toolchain/wheel.sh test" in step for step in ran["engine"])
    assert "make deb" in ran["deb"] and "pip wheel" in ran["wheel"][1]
    assert ran["image"][1].startswith("packaging/image/build.sh")
