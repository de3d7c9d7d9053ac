"""What the hosts are to be: the defaults of variables.tf, a variant's, and the operator's own.

The defaults are read from variables.tf, where `terraform fmt` keeps each at the same
place, so that a cost can be told before there is an account, a provider or a plan.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROLES = ("server", "store", "client")

Value = str | float | bool | None

_VARIABLE = re.compile(r'^variable "(\w+)" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_DEFAULT = re.compile(r"^  default +?= (.*)$", re.MULTILINE)


class NotPossible(Exception):
    """What the operator asked for and cannot have, to be shown as it is."""


@dataclass(frozen=True)
class Variant:
    """One of the ways to set up the comparison that readers ask for."""

    what: str
    variables: Mapping[str, Value] = field(default_factory=dict)
    # Further arguments of bench/run.
    bench: tuple[str, ...] = ()


VARIANTS = {
    "as-2022": Variant(
        "one c5.4xlarge for PostgreSQL and the service, c5.large for Redis and the client"
    ),
    "all-cores": Variant(
        "the same hosts, the tuned service with as many workers as the server has cores",
        bench=("--workers", "16"),
    ),
    "small-server": Variant(
        "PostgreSQL, and the service, on a c5.large as Redis is; the client on the c5.4xlarge",
        {"server_type": "c5.large", "client_type": "c5.4xlarge"},
    ),
}


def defaults(source: Path = HERE / "variables.tf") -> dict[str, Value]:
    """The variables that have a default, with it."""
    found = {}
    for name, body in _VARIABLE.findall(source.read_text()):
        if default := _DEFAULT.search(body):
            found[name] = json.loads(default[1])
    return found


def _typed(name: str, text: str, like: Value) -> Value:
    """What the operator wrote for a variable, in the type of its default."""
    if isinstance(like, bool):
        if text not in ("true", "false"):
            raise NotPossible(f"{name} must be true or false")
        return text == "true"
    if isinstance(like, int | float):
        try:
            return int(text)
        except ValueError:
            raise NotPossible(f"{name} must be a whole number") from None
    return text


def resolve(variant: str, given: Sequence[str]) -> dict[str, Value]:
    """Every variable that is not the operator's own address or key; `given` as name=value."""
    known = defaults()
    chosen = {}
    for assignment in given:
        name, equals, text = assignment.partition("=")
        if not equals or name not in known:
            raise NotPossible(f"--var takes NAME=VALUE with one of: {', '.join(sorted(known))}")
        chosen[name] = _typed(name, text, known[name])
    return known | dict(VARIANTS[variant].variables) | chosen


def instance_types(variables: Mapping[str, Value]) -> dict[str, str]:
    """The role of each host, and its type."""
    return {role: str(variables[f"{role}_type"]) for role in ROLES}
