"""No figure of the comparison is written by hand.

In what people write of the comparison (templates, the hand-written pages of docs/benchmarks, and the sections
of other pages that hold a generated part) a number may stand only as a fact of the set-up: so many
clients, trees, keys; a version, a date, a name. Everything else is an error,
also in words such as "ten times" or "a third". Measured figures come in by placeholders.
"""

import itertools
import re
from pathlib import Path

from bench.report.pages import PAGES, PART, PARTS, TEMPLATES, generated_before
from bench.report.template import prose

# What a number may count or name in a text of ours: facts that somebody chose and nobody measured.
CHOSEN = re.compile(
    r"""
    ^\d+\.\s                                              # an item of a list
    | \b(?:PostgreSQL|PgBouncer|XGBoost|Python|Redis|Debian|Ubuntu|HTTP|TLS|IPv|schema|OMP_NUM_THREADS=)\s?
        \d[\d.]*(?:\s(?:to|and|or)\s\d[\d.]*)?             # a version: XGBoost 3.1 to 3.3
    | \b\d+(?:st|nd|rd|th)\b
    | \bwith\s[1-5]\d\d(?=[,.;])                          # a status: answered with 404
    | \b20\d\d\b(?![,.]\d|\s?(?:requests|predictions|req/s|tps|times|m?s\b|[µun]s\b|MB|GB|kB|%))
                                                          # a year
    | \b20\d\d-\d\d-\d\d\b
    | \bp(?:50|90|99\.9|99)\b                              # the names of percentiles
    | \b[cmt]\d[a-z]?\.\d*x?large\b                        # instance types
    | \b\d[\d,]*\s(?:(?:one-row|such|random|hot|different|simple|prepared|Gunicorn|synchronous|sync|OpenMP
        |interleaved)\s)?
        (?:clients?|trees|keys?|flights|rows|columns|features|workers?|threads?|connections?|repetitions
        |hosts|machines|vCPUs?|predictions?\sa\srequest|predictions\sat\sa\stime|sets)\b
    | \b(?:depth|model|pool|seed|port|table)\sof\s\d[\d,]*\b | \bdepth\s\d+\b
    | \b0\.\d+\sms\sone\sway\b                             # a delay that is set
    """,
    re.VERBOSE | re.MULTILINE,
)
NUMBER = re.compile(r"\d[\d,.]*(?:\s?(?:%|[a-zA-Zµ/]+))?")
ONES = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|hundred"
IN_WORDS = re.compile(
    rf"""
    \b(?:{ONES}|a\sthousand)(?:\s|-)?(?:times|fold|per\scent|percent)\b
    | \b(?:twice|thrice|tenfold|threefold|twofold|fourfold|fivefold)\b
    | \b(?:an?|one|two|three)\s(?:half|halves|(?:third|quarter|fifth|sixth|seventh|eighth|ninth|tenth
        |hundredth)s?)\b
    | \b(?:half|double|triple|quadruple)\s(?:the|as|of)\b
    | \border[s]?\sof\smagnitude\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Of code only this is looked at: a number with a unit that is measured.
MEASURED = re.compile(
    r"\b\d[\d,.]*\s?(?:req/s|requests/s|tps|TPS|qps|ms|us|µs|ns|[kMG]i?B|%|x)(?![\w=-])"
)
CODE = re.compile(r"^```.*?^```|^(?: {4}|\t).*?$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
# Where links lead, comments, and what a page was generated as.
ASIDE = re.compile(r"\]\([^)]*\)|<!--.*?-->|https?://\S+", re.DOTALL)


def _figures(text: str) -> list[tuple[int, str]]:
    """The places and texts of what may not stand there."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    text = ASIDE.sub(blank, text)
    found = [
        (code.start() + one.start(), one[0])
        for code in CODE.finditer(text)
        for one in MEASURED.finditer(code[0])
    ]
    plain = CHOSEN.sub(blank, CODE.sub(blank, text))
    found += [(one.start(), one[0]) for kind in (NUMBER, IN_WORDS) for one in kind.finditer(plain)]
    return sorted(found)


def figures(text: str) -> list[str]:
    """Every figure in a text that a person wrote, with its line."""
    return [
        f"line {text.count(chr(10), 0, place) + 1}: {figure.strip()!r}"
        for place, figure in _figures(text)
    ]


def _blank(text: str) -> str:
    """As many lines, and nothing on them."""
    return "\n" * text.count("\n")


def by_hand(page: str, whole: bool) -> str:
    """What a page with a generated part says beside it: all, or only in the same section."""
    parts = [*PART.finditer(page)]
    page_without = PART.sub(lambda found: _blank(found[0]), page)
    if whole:
        return page_without
    # Blanking moves what follows, but not lines.
    lines = page_without.splitlines(keepends=True)
    with_parts = {page.count("\n", 0, found.start()) for found in parts}
    kept = set()
    for begin, end in _sections(lines):
        if any(begin <= line < end for line in with_parts):
            kept |= {*range(begin, end)}
    return "".join(text if line in kept else "\n" for line, text in enumerate(lines))


def _sections(lines: list[str]) -> list[tuple[int, int]]:
    """The first line of each section and the one after its last, by headings of any level."""
    starts = [0, *(line for line, text in enumerate(lines) if re.match(r"#+ ", text)), len(lines)]
    return [*itertools.pairwise(starts)]


def unfounded(root: Path, templates: Path = TEMPLATES) -> list[str]:
    """Every figure written by hand, with its place."""
    texts = {
        f"bench/report/templates/{path.name}": prose(path.read_text())
        for path in templates.glob("*.md")
    }
    generated = {root / path for path in generated_before(root)}
    for path in (root / PAGES).glob("*.md"):
        if path not in generated:
            texts[f"{PAGES}/{path.name}"] = path.read_text()
    for name in PARTS:
        # The repository's own page also tells of other measurements.
        texts[name] = by_hand((root / name).read_text(), whole=name != "README.md")
    return [
        f"{name}, {figure} is a figure written by hand: use a placeholder"
        for name, text in sorted(texts.items())
        for figure in figures(text)
    ]
