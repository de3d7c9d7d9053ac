"""`make report`: makes docs/benchmarks/ and the marked parts of other pages anew from bench/results/."""

import argparse
import sys
from pathlib import Path

from bench.report.files import sources
from bench.report.measured import Lacking
from bench.report.pages import ROOT, BadTemplate, made, stale, write
from bench.results import BadResult


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail where anything would"
    )
    parser.add_argument(
        "--results", type=Path, default=ROOT / "bench" / "results", help="default: bench/results"
    )
    parser.add_argument("--local", metavar="NAME", help="a run to use, not the newest full one")
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="whose pages to write, in place of the repository's"
    )
    return parser.parse_args()


def main() -> None:
    """Writes, or only checks."""
    arguments = _arguments()
    try:
        found = sources(arguments.results, arguments.local)
        files = made(found, arguments.root)
    except (Lacking, BadTemplate, BadResult) as error:
        sys.exit(f"error: {error}")
    if found is None:
        print("there is no full run in bench/results yet: the pages stay empty")
    else:
        print(f"from {found.local.name}{f' and {found.split.name}' if found.split else ''}")
    changed = (stale if arguments.check else write)(files, arguments.root)
    print("\n".join(changed) or "nothing to change")
    if arguments.check and changed:
        sys.exit(1)


if __name__ == "__main__":
    main()
