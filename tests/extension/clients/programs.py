"""Builds programs that use a driver, in the driver's language.

Each function returns the commands that build a program and, the last one, run it. Programs in other languages
than Python are built in .build/clients, with the drivers of the lock files here.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE.parents[2] / ".build" / "clients"

# The settings that manage.py makes in an application.
DJANGO = """
import os
from django.conf import settings
database = {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}
settings.configure(DATABASES={"default": database})
"""


def python(program: str) -> list[list[str]]:
    """Runs Python."""
    text = DJANGO + program if "from django" in program else program
    return [[sys.executable, "-c", text]]


def node(program: str) -> list[list[str]]:
    """Runs JavaScript."""
    folder = folder_with("node", "predict.js", program)
    return [["npm", "ci", "--prefix", str(folder)], ["node", str(folder / "predict.js")]]


def go(program: str) -> list[list[str]]:
    """Builds and runs Go."""
    folder = folder_with("go", "main.go", program)
    return [["go", "build", "-C", str(folder), "-o", "predict"], [str(folder / "predict")]]


def rust(program: str) -> list[list[str]]:
    """Builds and runs Rust."""
    folder = folder_with("rust", "predict.rs", program)
    target = folder / "target"
    manifest = ["--manifest-path", str(folder / "Cargo.toml"), "--target-dir", str(target)]
    return [["cargo", "build", "--locked", *manifest], [str(target / "debug" / "predict")]]


def java(program: str) -> list[list[str]]:
    """Fetches the driver, and builds and runs Java."""
    folder = folder_with("java", "Predict.java", program)
    checksum, name = (HERE / "java" / "driver.sha256").read_text().split()
    driver = folder / name
    if not driver.exists():
        version = name.removeprefix("postgresql-").removesuffix(".jar")
        artifact = f"-Dartifact=org.postgresql:postgresql:{version}"
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
        command = ["mvn", "--batch-mode", copy, artifact, f"-DoutputDirectory={folder}"]
        run(command, dict(os.environ))
    assert hashlib.sha256(driver.read_bytes()).hexdigest() == checksum
    source = str(folder / "Predict.java")
    paths = ["-d", str(folder), "-cp", str(driver)]
    return [["javac", *paths, source], ["java", "-cp", f"{folder}:{driver}", "Predict"]]


# The function of each language, and the tools that it needs.
LANGUAGES: dict[str, tuple[Callable[[str], list[list[str]]], list[str]]] = {
    "py": (python, []),
    "js": (node, ["node", "npm"]),
    "go": (go, ["go"]),
    "rust": (rust, ["cargo"]),
    "java": (java, ["java", "javac", "mvn"]),
}


def folder_with(language: str, name: str, program: str) -> Path:
    """Returns the folder in which programs of that language are built, with this one in it."""
    folder = BUILT / language
    shutil.copytree(HERE / language, folder, dirs_exist_ok=True)
    (folder / name).write_text(program)
    return folder


def run(command: list[str], environment: dict[str, str]) -> str:
    """Returns the standard output of a command, which must succeed."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[:2]}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def missing(language: str) -> list[str]:
    """Returns the tools of a language that are not installed."""
    return [tool for tool in LANGUAGES[language][1] if not shutil.which(tool)]


def printed(language: str, program: str, environment: dict[str, str]) -> str:
    """Builds and runs a program; returns its output."""
    *_, output = [run(command, environment) for command in LANGUAGES[language][0](program)]
    return output
