"""The blocks of a page of docs/ that a reader copies, run, and compared with the output that the page shows.

A block `text` right behind another is what that one prints. A line `...` in it stands for any lines.
A block without a language is a signature, or a command that no test can run here, and is not run.

psql runs `sql`, the shell `sh` and Python `python` and `py`, each as a superuser of the page's database, with
one thread for training, so that figures are the same everywhere. The query of a dbt model, a block `jinja`,
runs as dbt writes it for a first run. A block `py` is part of an application of Django or SQLAlchemy, and
runs in one that has the model `Customer`.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.cluster import Cluster

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
OUTPUT = "text"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A block to run: its language, its text, and the output on the page, if there is one."""

    language: str
    text: str
    shown: str | None = None


@dataclass(frozen=True)
class Section:
    """The title of a part of a page, and its blocks."""

    title: str
    blocks: list[Block]


def blocks(text: str) -> list[Block]:
    """The blocks of a text that have a language, in its order."""
    found: list[Block] = []
    end = 0
    for fenced in FENCED.finditer(text):
        language, body = fenced.groups()
        behind = not text[end : fenced.start()].strip()
        if language == OUTPUT and found and behind:
            found[-1] = Block(found[-1].language, found[-1].text, body)
        elif language and language != OUTPUT:
            found.append(Block(language, body))
        end = fenced.end()
    return found


def page(path: str) -> Section:
    """A page as one section: what psql and the shell run. Other tests run programs, and read files."""
    found = blocks((ROOT / path).read_text())
    return Section(path, [block for block in found if block.language in ("sql", "sh")])


def sections(path: str) -> list[Section]:
    """The sections of a page that have blocks; what comes before the first heading is none."""
    parts = re.split(r"^## (.+)$", (ROOT / path).read_text(), flags=re.M)[1:]
    read = zip(parts[::2], parts[1::2], strict=True)
    found = [Section(title, blocks(text)) for title, text in read]
    return [section for section in found if section.blocks]


PSQL = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1"]
PYTHON = [sys.executable, "-"]
COMMANDS = {"sql": PSQL, "jinja": PSQL, "sh": ["bash", "-eu"], "python": PYTHON, "py": PYTHON}
ONE_THREAD = {"PGOPTIONS": "-c pgboost_train.max_threads=1"}
# Messages on psql's other stream, which a page may show too.
MESSAGE = re.compile(r"^(DEBUG|NOTICE|WARNING|ERROR): ", re.M)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")
# Figures of other processors and releases may differ in their last digits.
TOLERANCE = 1e-3
# The code before a block and behind it, by the library that it imports.
APPLICATIONS = {
    "django": (
        """
import os
import django
from django.conf import settings
from django.db import models
database = {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}
settings.configure(DATABASES={"default": database | {"OPTIONS": {"server_side_binding": True}}})
django.setup()
class Customer(models.Model):
    age = models.IntegerField()
    income = models.FloatField()
    region = models.TextField()
    visits = models.IntegerField()
    class Meta:
        app_label = "customers"
        db_table = "customers"
""",
        """
for query in (risky, risky_at_70):
    print(len(query), sum(customer.pk for customer in query))
""",
    ),
    "sqlalchemy": (
        """
from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
class Base(DeclarativeBase):
    pass
class Customer(Base):
    __tablename__ = "customers"
    id: Mapped[int] = mapped_column(primary_key=True)
    age: Mapped[int]
    income: Mapped[float]
    region: Mapped[str]
    visits: Mapped[int]
""",
        """
with Session(create_engine("postgresql+psycopg://")) as session:
    for query in (risky, risky_at_70):
        found = session.execute(query).all()
        print(len(found), sum(id for id, score in found))
""",
    ),
}


def program(block: Block) -> str:
    """The program to run for a block."""
    return in_application(block.text) if block.language == "py" else first_run(block.text)


def first_run(text: str) -> str:
    """The text; of a dbt model the query, without the parts for later runs."""
    if "{{" not in text:
        return text
    without_later = re.sub(r"\{% if is_incremental\(\) %\}.*?\{% endif %\}", "", text, flags=re.S)
    without_config = re.sub(r"\{\{ config\(.*?\) \}\}", "", without_later)
    return re.sub(r"\{\{ ref\('(\w+)'\) \}\}", r"\1", without_config) + ";"


def in_application(text: str) -> str:
    """The block, in an application of the library that it imports."""
    (before, behind) = APPLICATIONS[re.search(r"^from (\w+)", text, re.M)[1]]
    return before + text + behind


def printed(block: Block, cluster: Cluster, dbname: str, folder: Path) -> str:
    """The output of a block, with messages if the page shows some. The block must succeed."""
    environment = cluster.environment(dbname) | ONE_THREAD
    done = subprocess.run(
        COMMANDS[block.language], input=program(block), cwd=folder, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    shows_error = "ERROR: " in (block.shown or "")
    assert (done.returncode != 0) == shows_error, f"{block.text}\n{done.stderr}\n{done.stdout}"
    output = done.stdout
    if MESSAGE.search(block.shown or ""):
        output = done.stderr + output
    return "\n".join(line.rstrip() for line in output.rstrip().splitlines()).lstrip("\n") + "\n"


def outputs(section: Section, cluster: Cluster, dbname: str, folder: Path) -> list[str]:
    """The outputs of a section's blocks, one after another."""
    return [printed(block, cluster, dbname, folder) for block in section.blocks]


def compared(section: Section, cluster: Cluster, dbname: str, folder: Path) -> list[str]:
    """The same outputs; fails where a block prints something else than the page shows."""
    found = outputs(section, cluster, dbname, folder)
    for block, output in zip(section.blocks, found, strict=True):
        assert block.shown is None or same(output, block.shown), f"{block.text}\nprints\n{output}"
    return found


def same(output: str, shown: str) -> bool:
    """Returns whether the output is that of the page, except for numbers' last digits and columns' widths."""
    before, _, after = shown.partition("...\n")
    if before == shown:
        return alike(output.split(), shown.split())
    words = output.split()
    first, last = before.split(), after.split()
    return alike(words[: len(first)], first) and alike(words[len(words) - len(last) :], last)


def alike(words: list[str], shown: list[str]) -> bool:
    """Returns whether words are equal: numbers within the tolerance, lines under headings in any width."""
    if len(words) != len(shown):
        return False
    pairs = zip(words, shown, strict=True)
    return all((ruled(one) and ruled(other)) or near(one, other) for one, other in pairs)


def ruled(word: str) -> bool:
    return not word.strip("-+")


def near(word: str, shown: str) -> bool:
    if NUMBER.sub("#", word) != NUMBER.sub("#", shown):
        return False
    pairs = zip(NUMBER.findall(word), NUMBER.findall(shown), strict=True)
    return all(abs(float(a) - float(b)) <= TOLERANCE * max(abs(float(b)), 0.01) for a, b in pairs)
