"""Templates: Markdown with placeholders, and parts that stand only where there is something to say.

    {{ times postgres_direct/simple/hot/25t/20c python_tuned/http/hot/25t/20c }}
    <!-- if split -->
    ...
    <!-- end if -->

A condition stands on a line of its own, and conditions do not nest.
"""

import re
from collections.abc import Callable, Mapping

from bench.report import distance, goals, ladder
from bench.report.files import Sources
from bench.report.placeholders import BadTemplate
from bench.report.preparing import slower
from bench.report.rates import fixed_rates
from bench.report.wins import wins

PLACEHOLDER = re.compile(r"\{\{ *(.*?) *\}\}")
CONDITION = re.compile(r"^<!-- if ([a-z-]+) -->\n(.*?)^<!-- end if -->\n", re.MULTILINE | re.DOTALL)
_LEFT = re.compile(r"\{\{|\}\}|^<!-- (?:if|end if)", re.MULTILINE)


def _asked(sources: Sources, request: str) -> bool:
    return bool(sources.local.clients(request))


CONDITIONS: Mapping[str, Callable[[Sources], object]] = {
    "split": lambda sources: sources.split and distance.growth(sources.split),
    "no-split": lambda sources: not (sources.split and distance.growth(sources.split)),
    "sweep": lambda sources: sources.has("sweep"),
    "request-time": lambda sources: ladder.shown(sources.local),
    "rates": lambda sources: fixed_rates(sources.local),
    "random": lambda sources: _asked(sources, "random"),
    "batches": lambda sources: _asked(sources, "batch"),
    "trees": lambda sources: sources.local.further_models(),
    "training": lambda sources: sources.local.result.training,
    "wins": lambda sources: wins(sources.local)[0],
    "slower-preparations": lambda sources: slower(sources.local),
    "table-size": lambda sources: sources.has("table-size"),
    "missed": lambda sources: any(
        goal.verdict == "missed" for goal in goals.of_local(sources.local)
    ),
}


def with_conditions(text: str, sources: Sources) -> str:
    """The parts whose condition holds, without the lines that say so."""

    def kept(found: re.Match[str]) -> str:
        if found[1] not in CONDITIONS:
            raise BadTemplate(f"no condition is called {found[1]}")
        return found[2] if CONDITIONS[found[1]](sources) else ""

    return CONDITION.sub(kept, text)


def fill(text: str, sources: Sources, filled: Callable[[str], str]) -> str:
    """The template with every placeholder's inside replaced by what `filled` gives for it."""
    made = PLACEHOLDER.sub(lambda found: filled(found[1]), with_conditions(text, sources))
    if left := _LEFT.search(made):
        raise BadTemplate(f"this is not closed or not opened: {made[left.start() :][:40]!r}")
    return made
