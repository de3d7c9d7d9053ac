"""The README's quick start in psql, as a terminal shows it: docs/session.cast and docs/session.svg.

A program types the statements into psql at a terminal. The first file is of asciinema (asciicast, version 2:
a JSON object, then one event per line), and `asciinema play` plays it. The second is a picture for pages, in
which each line appears when psql wrote it.
"""

import json
import re
import time
from html import escape

import pexpect

from tests.extension.pages.blocks import DOCS, ONE_THREAD, PSQL, Block, page
from tools.cluster import Cluster

CAST = DOCS / "session.cast"
PICTURE = DOCS / "session.svg"
PAGE = "README.md"
COLUMNS, LINES = 104, 80
# Of psql, at the start of a statement and within one.
PROMPTS = ("shop=# ", "shop-# ")
PROMPT = re.compile("shop[=-]# ?")
# Messages of psql that the page does not show.
MESSAGE = re.compile("NOTICE: |DETAIL: ")
# Seconds between two keys, and before a reader has read what a statement printed.
KEY, READ = 0.04, 1.5
# Pixels.
FONT, LINE, MARGIN = 13, 17, 12

Event = tuple[float, str]


def typed() -> list[Block]:
    """The blocks that are typed."""
    return [block for block in page(PAGE).blocks if block.language == "sql"]


def shown() -> list[str]:
    """The lines that a terminal has in the end, except for prompts and what else psql prints."""
    texts = "".join(block.text + (block.shown or "") for block in typed())
    return [line.rstrip() for line in texts.splitlines() if line.strip()]


def recorded(cluster: Cluster, dbname: str) -> list[Event]:
    """Types the statements into psql; returns the terminal's output with its times in seconds."""
    first, other = PROMPTS
    psql = pexpect.spawn(
        PSQL[0],
        [*PSQL[1:], "-n", "-P", "pager=off", "-v", f"PROMPT1={first}", "-v", f"PROMPT2={other}"],
        env=cluster.environment(dbname) | ONE_THREAD,
        encoding="utf-8",
        dimensions=(LINES, COLUMNS),
        timeout=120,
    )
    # KEY is the pause between keys.
    psql.delaybeforesend = None
    events: list[Event] = []
    started = time.monotonic()

    def wait_for(pattern: str) -> None:
        psql.expect(pattern)
        events.append((time.monotonic() - started, psql.before + psql.after))

    wait_for("|".join(PROMPTS))
    for line in "".join(block.text for block in typed()).splitlines():
        for key in line:
            psql.send(key)
            wait_for(re.escape(key))
            time.sleep(KEY)
        psql.send("\r")
        wait_for("|".join(PROMPTS))
        time.sleep(READ if line.endswith(";") else 0)
    psql.close()
    return events


def cast(events: list[Event]) -> str:
    """A file of asciinema."""
    header = {"version": 2, "width": COLUMNS, "height": LINES, "title": "pgboost: quick start"}
    lines = [header, *([round(seconds, 3), "o", text] for seconds, text in events)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def lines_of(text: str) -> list[tuple[float, str]]:
    """The lines of a file of asciinema, each with the seconds at which it was whole."""
    found, line = [], ""
    for event in text.splitlines()[1:]:
        seconds, _, printed = json.loads(event)
        *whole, line = (line + printed).replace("\r", "").split("\n")
        found += [(seconds, one.rstrip()) for one in whole]
    return found


def picture(text: str) -> str:
    """A picture of a file of asciinema, in which each line appears at its time."""
    lines = lines_of(text)
    width = 2 * MARGIN + round(COLUMNS * FONT * 0.6)
    height = 2 * MARGIN + len(lines) * LINE
    body = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + (place + 1) * LINE - 4}" style="animation-delay:{seconds:.2f}s">'
        f"{escape(line)}</text>"
        for place, (seconds, line) in enumerate(lines)
        if line
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>psql: a table, a model, predictions and an explanation</title>
<style>
rect {{ fill: #1f2430 }}
text {{ font: {FONT}px monospace; white-space: pre; fill: #e6e6e6; animation: shown 0.1s both }}
@keyframes shown {{ from {{ opacity: 0 }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ animation: none }} }}
</style>
<rect width="{width}" height="{height}" rx="6"/>
{body}
</svg>
"""


def current() -> bool:
    """Returns whether the files show what the README does."""
    if not (CAST.exists() and PICTURE.exists()):
        return False
    text = CAST.read_text()
    lines = [PROMPT.sub("", line) for _, line in lines_of(text)]
    kept = [line for line in lines if line and not MESSAGE.match(line)]
    return kept == shown() and PICTURE.read_text() == picture(text)


def write(cluster: Cluster, dbname: str) -> None:
    """Records, where the README changed since."""
    if not current():
        text = cast(recorded(cluster, dbname))
        CAST.write_text(text)
        PICTURE.write_text(picture(text))
