"""Descriptions of the systems, read from system.toml files (README.md).

`described` lists systems without importing their code. What systems share (the cluster, the Redis) belongs to
the site.
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
# The groups of each side on pages: the subject of the comparison, and others.
GROUPS = {
    "postgres": ("pgboost", "other ways inside PostgreSQL"),
    "service": ("Python services", "other services"),
}


@dataclass(frozen=True)
class Variant:
    """A way to call a system, with its label on pages."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    label: str
    # The sets of cells that it takes part in, if not the system's.
    takes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """The description of one system in a system.toml."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    name: str
    # One sentence, in Markdown.
    what: str
    # Its side of the comparison, and its folder's position on pages.
    side: Side
    order: int
    # The module and the class of its code.
    package: str
    kind: str
    # The first is the plain one, the only one measured with rates and large models.
    variants: dict[str, Variant]
    # The sets of cells that it takes part in, as workloads.toml names them.
    takes: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    # Whether it predicts by this project's engine, and so is not a rival of it.
    engine: bool = False
    # Whether it belongs to the second group of its side: not pgboost, or not Python.
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
        # A class of this folder's system.py, or of the folder named before the dot.
        folder, _, kind = system.pop("class").rpartition(".")
        shared["package"] = f"{__package__}.{folder or file.parent.name}.system"
        given = {"name": name, "kind": kind, **shared, **system}
        found.append(TypeAdapter(Description).validate_python(given))
    return found


@cache
def described() -> dict[str, Description]:
    """Returns every system by its name, in the order of pages."""
    found = [one for file in FOLDER.glob(f"*/{FILE}") for one in _read(file)]
    ordered = sorted(found, key=lambda one: one.order)
    names = {one.name: one for one in ordered}
    if len(names) < len(ordered):
        raise ValueError("two systems have one name")
    return names


def made(description: Description, site: Any) -> Any:
    """Imports a system's code and returns its System (running.py) for a site."""
    kind = getattr(importlib.import_module(description.package), description.kind)
    return kind(site, **description.options)
