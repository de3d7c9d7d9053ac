"""What a system is, as its system.toml says (README.md).

Whoever lists, names or draws systems reads `described` and imports no system's code.
"""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
FILE = "system.toml"
SIDES = ("postgres", "service")
# How pages group the entries of each side: what the comparison is about, and others.
GROUPS = {
    "postgres": ("pgboost", "other ways inside PostgreSQL"),
    "service": ("Python services", "other services"),
}


@dataclass(frozen=True)
class Variant:
    """A way to ask a system: how pages name it."""

    label: str
    # The sets of cells that it is asked, where they are not the system's.
    takes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """What a system.toml says of one system."""

    name: str
    # One sentence, in Markdown.
    what: str
    # Whose side pages count it to, and its folder's place among all.
    side: str
    order: int
    # The package of its code, and the class and what that is given.
    package: str
    kind: str
    # The first is the plain one: rates and large models are asked of it alone.
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
    if shared["side"] not in SIDES:
        raise ValueError(f"{file}: side is one of {', '.join(SIDES)}")
    shared["package"] = f"{__package__}.{file.parent.name}.system"
    found = []
    for name, system in known.items():
        kind, takes = system.pop("class"), (*system.pop("takes"),)
        variants = {
            one: Variant(**{**drawn, "takes": (*drawn.get("takes", ()),)})
            for one, drawn in system.pop("variants").items()
        }
        known = {"name": name, "kind": kind, "takes": takes, "variants": variants}
        found.append(Description(**shared, **known, **system))
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
