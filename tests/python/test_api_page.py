"""The site's page of the Python API has all that the package exports, with its arguments."""

import inspect
import re
from typing import Any

import pytest

import pgboost
import pgboost.estimators
from tools.toolchain import api_page

PAGE = api_page.page()
HEADINGS = dict(re.findall(r"^#{3,4} (\S+)\n\n```py\n(.*?)\n```\n", PAGE, re.M | re.S))
MODULES = [getattr(pgboost, name) for name in api_page.MODULES]


def exported() -> dict[str, Any]:
    """Returns the names that the package exports and its modules define."""
    found = {name: getattr(pgboost, name) for name in pgboost.__all__}
    for module in MODULES:
        defined = {name: one for name, one in vars(module).items() if not name.startswith("_")}
        found |= {
            name: one
            for name, one in defined.items()
            if getattr(one, "__module__", None) == module.__name__
        }
    return {name: one for name, one in found.items() if not inspect.ismodule(one)}


def written(signature: str) -> str:
    """Removes line breaks and quotes from a signature."""
    return re.sub(r"[\s'\"]", "", signature).replace(",)", ")")


def test_every_name_has_a_heading() -> None:
    assert {name for name in HEADINGS if "." not in name} == set(exported())


@pytest.mark.parametrize("heading", HEADINGS)
def test_signatures_and_docstrings_are_pythons(heading: str) -> None:
    name, *methods = heading.split(".")
    one = exported()[name]
    for method in methods:
        one = getattr(one, method)
    assert inspect.getdoc(one) in PAGE
    if not inspect.isclass(one):
        assert written(HEADINGS[heading]) == written(f"{one.__name__}{inspect.signature(one)}")
