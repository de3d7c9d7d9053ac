"""What .github/workflows run of others is pinned by its commit."""

import re
from pathlib import Path

WORKFLOWS = Path(__file__).resolve().parents[2] / ".github" / "workflows"
USES = re.compile(r"uses: *(.*)")
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def test_actions_are_pinned_by_commit() -> None:
    actions = [a for path in WORKFLOWS.glob("*.yml") for a in USES.findall(path.read_text())]
    assert actions
    assert [action for action in actions if not PINNED.fullmatch(action)] == []
