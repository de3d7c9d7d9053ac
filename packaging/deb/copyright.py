#!/usr/bin/env python3
"""Writes Debian's machine-readable copyright file: `packaging/deb/copyright.py MAJOR`, or `source`.

It lists pgboost, libxgboost and libgomp, and each crate that is linked into the libraries, by cargo's own
account of them; for the source package pgboost and each crate that Cargo.lock has. Names of
copyright holders come from a crate's licence file, or else from its manifest.
"""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = ("pgboost", "pgboost_train", "pgboost_trainer")
HEADER = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: pgboost

Files: *
Copyright: 2026 pgboost's authors
License: Apache-2.0
"""
WHEEL = """\
Files: .build/xgboost/xgboost/lib/*
Copyright: 2014-2026 by XGBoost Contributors
License: Apache-2.0
Comment: libxgboost, out of the wheel that tools/toolchain/libxgboost.txt names.

Files: .build/xgboost/xgboost_cpu.libs/*
Copyright: 2005-2025 Free Software Foundation, Inc.
License: GPL-3+ with GCC-Runtime-Library-3.1 exception
Comment: libgomp, GCC's OpenMP runtime, out of the same wheel.
"""
GCC_RUNTIME = "GPL-3+ with GCC-Runtime-Library-3.1 exception"
COMMON = "On Debian systems, its full text is in /usr/share/common-licenses/{}."
STANDING = {
    "Apache-2.0": [COMMON.format("Apache-2.0")],
    "LGPL-2.1+": [COMMON.format("LGPL-2.1")],
    GCC_RUNTIME: [
        "This program is free software; you can redistribute it and/or modify it under the terms of the"
        " GNU General Public License as published by the Free Software Foundation; either version 3, or"
        " (at your option) any later version.",
        "Under Section 7 of GPL version 3, you are granted additional permissions described in the GCC"
        " Runtime Library Exception, version 3.1, as published by the Free Software Foundation.",
        COMMON.format("GPL-3"),
    ],
}
# SPDX's names that Debian has others for, and how crates of several licences name the files.
DEBIAN_NAMES = {"MIT": "Expat", "LGPL-2.1-or-later": "LGPL-2.1+"}
LICENCE_FILES = {"Expat": "MIT", "Unicode-3.0": "UNICODE", "Zlib": "ZLIB"}
HOLDER = re.compile(
    r"^[^\w\n]*copyright\W+(?:\(c\)|c\b|©)?\W*(\d{4}.*|\(c\).*)$", re.IGNORECASE | re.MULTILINE
)


def cargo(*words: str) -> str:
    """The standard output of cargo in the workspace."""
    return subprocess.run(
        ["cargo", *words, "--locked"],
        cwd=ROOT / "extension", capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


def locked() -> list[dict]:
    """The crates of others that Cargo.lock has, as cargo's metadata has them."""
    packages = json.loads(cargo("metadata", "--format-version", "1"))["packages"]
    return [package for package in packages if package["source"]]


def linked(major: str) -> list[dict]:
    """The crates of others that the libraries are made of, as cargo's metadata has them."""
    features = [f"pgboost/pg{major},pgboost_train/pg{major}"]
    chosen = ["--no-default-features", "--features", *features]
    ours = [word for name in OURS for word in ("-p", name)]
    tree = cargo("tree", *ours, *chosen, "-e", "normal", "--prefix", "none", "--format", "{p}")
    names = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    return [package for package in locked() if (package["name"], f"v{package['version']}") in names]


def licence_files(package: dict) -> dict[str, str]:
    """The texts of a crate's licence files, by name."""
    folder = Path(package["manifest_path"]).parent
    names = ("LICEN", "COPYING", "UNLICENSE")
    return {
        path.name: path.read_text(errors="replace")
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name.upper().startswith(names)
    }


def holders(package: dict) -> list[str]:
    """Who holds the copyright."""
    found = [line for text in licence_files(package).values() for line in HOLDER.findall(text)]
    return (
        list(dict.fromkeys(line.strip() for line in found))
        or package["authors"]
        or [f"the authors of {package['name']}"]
    )


def debian_licence(spdx: str) -> str:
    """An SPDX expression in Debian's form."""
    words = spdx.replace("/", " OR ").replace(") AND", " , AND").replace("(", "").split()
    joined = {"OR": "or", "AND": "and"}
    return " ".join(joined.get(word) or DEBIAN_NAMES.get(word, word) for word in words).replace(
        " ,", ","
    )


def stanza(package: dict) -> str:
    """A crate's paragraph."""
    copyrights = "\n           ".join(holders(package))
    return (
        f"Files: vendor/{package['name']}-{package['version']}/*\n"
        f"Copyright: {copyrights}\nLicense: {debian_licence(package['license'])}\n"
    )


def licence_text(name: str, packages: list[dict]) -> str:
    """The text of a licence: Debian's place of it, or what a crate carries."""
    if name in STANDING:
        return "\n".join(textwrap.fill(part, 90) for part in STANDING[name])
    for package in packages:
        if name not in re.split(r"[ ,]+", debian_licence(package["license"])):
            continue
        for file, text in licence_files(package).items():
            if (
                debian_licence(package["license"]) == name
                or LICENCE_FILES.get(name, name).upper() in file.upper()
            ):
                return re.sub(r"(?im)^[^\w\n]*copyright.*$\n?", "", text).strip()
    raise SystemExit(f"error: no crate carries the text of {name}")


def field(text: str) -> str:
    """Text as the body of a field: indented, blank lines as a dot."""
    return "\n".join(
        f" {line.rstrip()}" if line.strip() else " ." for line in text.strip().splitlines()
    )


def main() -> None:
    """Prints the file for the packages of a major version, or for the source package."""
    of_source = sys.argv[1] == "source"
    packages = locked() if of_source else linked(sys.argv[1])
    header = [HEADER] if of_source else [HEADER, WHEEL]
    used = {
        word.strip(",")
        for package in packages
        for word in debian_licence(package["license"]).split()
    }
    named = {"Apache-2.0"} if of_source else {"Apache-2.0", GCC_RUNTIME}
    names = sorted(used - {"or", "and"} | named)
    paragraphs = [*header, *map(stanza, packages)]
    paragraphs += [f"License: {name}\n{field(licence_text(name, packages))}\n" for name in names]
    print("\n".join(paragraphs), end="")


if __name__ == "__main__":
    main()
