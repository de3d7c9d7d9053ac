"""What a system is, as its system.toml says (README.md).

Whoever lists, names or draws systems reads `described` and imports no system's code. What systems share (the
cluster, the Redis) belongs to the site.
"""

import importlib
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from pydantic import TypeAdapter

FOLDER = Path(__file__).parent
FILE = "system.toml"
Side = Literal["postgres", "service"]
SIDES = get_args(Side)
# How pages group the entries of each side: what the comparison is about, and others.
GROUPS = {
    "postgres": ("pgboost", "other ways inside PostgreSQL"),
    "service": ("Python services", "other services"),
}


@dataclass(frozen=True)
class Variant:
    """A way to ask a system: how pages name it."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    label: str
    # The sets of cells that it is asked, where they are not the system's.
    takes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """What a system.toml says of one system."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    name: str
    # One sentence, in Markdown.
    what: str
    # Whose side pages count it to, and its folder's place among all.
    side: Side
    order: int
    # The package of its code, and the class and what that is given.
    package: str
    kind: str
    # The first is the plain one: it alone is asked for rates and large models.
    variants: dict[str, Variant]
    # The sets of cells that it is asked, as workloads.toml names them.
    takes: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    # Whether it predicts by this project's engine: such a service is no rival of it.
    engine: bool = False
    # Whether pages have it among the others of its side: no pgboost, or no Python.
    other: bool = False

    @property
    def all_takes(self) -> tuple[str, ...]:
        """The system's sets, and those of its variants."""
        return (*self.takes, *(name for one in self.variants.values() for name in one.takes))


def _read(file: Path) -> list[Description]:
    known = tomllib.loads(file.read_text())
    shared = {"side": known.pop("side"), "order": known.pop("order")}
    found = []
    for name, system in known.items():
        # Of this folder's system.py, or of another's that is named.
        folder, _, kind = system.pop("class").rpartition(".")
        shared["package"] = f"{__package__}.{folder or file.parent.name}.system"
        given = {"name": name, "kind": kind, **shared, **system}
        found.append(TypeAdapter(Description).validate_python(given))
    return found


@cache
def described() -> dict[str, Description]:
    """Every system by its name, in the order of pages."""
    found = [one for file in FOLDER.glob(f"*/{FILE}") for one in _read(file)]
    ordered = sorted(found, key=lambda one: one.order)
    names = {one.name: one for one in ordered}
    if len(names) < len(ordered):
        raise ValueError("two systems have one name")
    return names


def made(description: Description, site: Any) -> Any:
    """The System (running.py), for a site; only now its code is imported."""
    kind = getattr(importlib.import_module(description.package), description.kind)
    return kind(site, **description.options)
