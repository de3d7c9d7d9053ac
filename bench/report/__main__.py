"""`make report`: generates docs/benchmarks/ and the marked parts of other pages from bench/results/."""

import argparse
import sys
from pathlib import Path

from bench.report.files import sources
from bench.report.measured import MissingFigure
from bench.report.pages import ROOT, BadTemplate, made, stale, write
from bench.results import BadResult


def main() -> None:
    """Writes the files, or only checks them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--check", action="store_true", help="change nothing; fail where anything would")
    add("--results", type=Path, default=ROOT / "bench" / "results", help="default: bench/results")
    add("--local", metavar="NAME", help="a run to use, not the newest full one")
    add("--root", type=Path, default=ROOT, help="whose pages to write, not the repository's")
    given = parser.parse_args()
    try:
        found = sources(given.results, given.local)
        files = made(found, given.root)
    except (MissingFigure, BadTemplate, BadResult) as error:
        sys.exit(f"error: {error}")
    if found is None:
        print("there is no full run in bench/results yet: the pages stay empty")
    else:
        print("from", " and ".join(one.name for one in (found.local, found.split) if one))
    changed = (stale if given.check else write)(files, given.root)
    print("\n".join(changed) or "nothing to change")
    sys.exit(bool(given.check and changed))


if __name__ == "__main__":
    main()
