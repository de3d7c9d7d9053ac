"""`make report`: generates docs/benchmarks/ and the marked parts of other pages from bench/results/."""

import argparse
import sys

from bench.report.files import sources
from bench.report.measured import MissingFigure
from bench.report.pages import ROOT, BadTemplate, made, stale, write
from bench.results import BadResult


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    said = "change nothing; fail where anything would"
    parser.add_argument("--check", action="store_true", help=said)
    given = parser.parse_args()
    try:
        found = sources(ROOT / "bench" / "results")
        files = made(found)
    except (MissingFigure, BadTemplate, BadResult) as error:
        sys.exit(f"error: {error}")
    print("from", " and ".join(one.name for one in (found.local, found.split) if one))
    changed = stale(files)
    if not given.check:
        write(files)
    print("\n".join(changed) or "nothing to change")
    sys.exit(bool(given.check and changed))


if __name__ == "__main__":
    main()
