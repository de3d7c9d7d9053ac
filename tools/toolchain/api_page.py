"""Generates the page of the Python package's functions and classes from their docstrings.

It reads the sources, so it needs neither the package nor its dependencies.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "python" / "src" / "pgboost"
# Modules that users import by name, in the order of the page.
MODULES = ("plots", "estimators")
TITLE = "# Python API\n\nMade of the docstrings of the [Python package](../python/README.md).\n"
Public = ast.FunctionDef | ast.ClassDef


def page() -> str:
    """Returns the page: the package's exports, errors last, and then the modules."""
    parts = [TITLE, "## pgboost\n"]
    parts += [text for name, one in exported() for text in described(name, one)]
    for module in MODULES:
        tree = parsed(module)
        parts += [f"## pgboost.{module}\n", docstring(tree)]
        parts += [text for one in public(tree) for text in described(one.name, one)]
    return "\n".join(parts)


def exported() -> Iterator[tuple[str, Public]]:
    """Yields the exported definitions: functions, other classes, then errors."""
    found = {}
    for node in parsed("__init__").body:
        if isinstance(node, ast.ImportFrom) and node.module:
            defined = {one.name: one for one in public(parsed(node.module))}
            found |= {name.name: defined[name.name] for name in node.names}

    def place(name: str) -> tuple[bool, bool, str]:
        return isinstance(found[name], ast.ClassDef), name.endswith("Error"), name

    for name in sorted(found, key=place):
        yield name, found[name]


def parsed(module: str) -> ast.Module:
    """Parses a module's source."""
    return ast.parse((SOURCE / f"{module}.py").read_text())


def public(tree: ast.Module | ast.ClassDef) -> list[Public]:
    """Returns the functions and classes whose names do not begin with an underscore."""
    nodes = [node for node in tree.body if isinstance(node, Public)]
    return [node for node in nodes if not node.name.startswith("_")]


def described(name: str, one: Public, level: int = 3) -> Iterator[str]:
    """Yields heading, signature and docstring, and those of a class's methods."""
    yield f"{'#' * level} {name}\n"
    yield f"```py\n{signature(one)}\n```\n"
    yield docstring(one)
    if isinstance(one, ast.ClassDef):
        for method in public(one):
            yield from described(f"{name}.{method.name}", method, level + 1)


def signature(one: Public) -> str:
    """Returns a function's arguments, one per line if they are many, or a class's fields."""
    if isinstance(one, ast.ClassDef):
        fields = [ast.unparse(node) for node in one.body if isinstance(node, ast.AnnAssign)]
        bases = ", ".join(ast.unparse(base) for base in one.bases)
        return "\n    ".join(
            [f"class {one.name}({bases})" if bases else f"class {one.name}", *fields]
        )
    arguments = ast.unparse(one.args)
    returns = f" -> {ast.unparse(one.returns)}" if one.returns else ""
    line = f"{one.name}({arguments}){returns}"
    if len(line) <= 100:
        return line
    listed = "".join(f"\n    {part}," for part in arguments_of(one.args))
    return f"{one.name}({listed}\n){returns}"


def arguments_of(arguments: ast.arguments) -> list[str]:
    """Returns each argument with its type and default."""
    given = arguments.args
    defaults = [None] * (len(given) - len(arguments.defaults)) + list(arguments.defaults)
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    parts = [argument(*pair) for pair in zip(given, defaults, strict=True)]
    return parts + ["*"] * bool(arguments.kwonlyargs) + [argument(*pair) for pair in keywords]


def argument(one: ast.arg, default: ast.expr | None) -> str:
    """Returns an argument as written in a signature."""
    return ast.unparse(one) + ("" if default is None else f" = {ast.unparse(default)}")


def docstring(node: ast.Module | Public) -> str:
    """Returns the docstring; raises if there is none."""
    text = ast.get_docstring(node)
    if text is None:
        raise ValueError(f"{getattr(node, 'name', 'a module')} has no docstring")
    return text + "\n"
