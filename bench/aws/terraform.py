"""Terraform, with its state and everything it remembers in .state/."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.aws.choices import HERE, Value
from bench.aws.commands import Commands


@dataclass(frozen=True)
class Terraform:
    """The hosts that one state directory knows of."""

    commands: Commands
    state: Path

    @property
    def _variables(self) -> Path:
        """What `up` was told: `down` must be told the same."""
        return self.state / "chosen.tfvars.json"

    def _command(self, verb: str, *arguments: str | Path) -> list[str | Path]:
        return ["terraform", f"-chdir={HERE}", verb, *arguments]

    def up(self, variables: Mapping[str, Value]) -> None:
        """Makes the hosts, or what of them is missing."""
        if not self.commands.dry:
            self.state.mkdir(parents=True, exist_ok=True)
            self._variables.write_text(json.dumps(variables, indent=1) + "\n")
        self.commands.run(self._command("init", "-input=false", "-no-color"))
        self.commands.run(
            self._command(
                "apply",
                "-input=false",
                "-no-color",
                "-auto-approve",
                f"-var-file={self._variables}",
            )
        )

    def output(self, name: str) -> Any:
        """One of the outputs."""
        return json.loads(self.commands.ask(self._command("output", "-json", name)) or "null")

    def anything(self) -> bool:
        """Whether there is something to take down, as far as the state knows."""
        file = self.state / "terraform.tfstate"
        return file.exists() and bool(json.loads(file.read_text()).get("resources"))

    def down(self) -> None:
        """Takes down all that the state knows of."""
        self.commands.run(
            self._command(
                "destroy",
                "-input=false",
                "-no-color",
                "-auto-approve",
                f"-var-file={self._variables}",
            )
        )
