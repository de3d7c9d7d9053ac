"""What was aimed for and what came of it, what the service wins, and what has no figure."""

from collections.abc import Sequence

from bench.report.figures import ranged, whole
from bench.report.goals import Goal
from bench.report.markdown import table
from bench.report.measured import Asked, Measured
from bench.report.preparing import slower
from bench.report.wins import wins as won
from bench.results import cores


def goals(found: Sequence[Goal]) -> str:
    """Each ratio that was aimed for, and what came of it."""
    rows = [
        (
            goal.what,
            f"at least {goal.least:g}",
            ranged(goal.measured, lambda value: f"{value:.2f}"),
            goal.verdict,
        )
        for goal in found
    ]
    return table(("", "target", "measured", ""), rows)


def _how(asked: Asked) -> str:
    loop = f"at {asked.rate:,} requests/s" if asked.rate else "closed loop"
    clients = f"{asked.clients} client{'s' if asked.clients > 1 else ''}"
    return f"{asked.request}, {asked.trees:,} trees, {clients}, {loop}"


def wins(measured: Measured) -> str:
    """What the service wins."""
    found, _ = won(measured)
    rows = [
        (
            _how(win.asked), win.contest.what, win.service.label,
            ranged(win.service_figure, win.contest.written), win.database.label,
            ranged(win.database_figure, win.contest.written), "clear" if win.clear else "within the spread",
        )
        for win in found
    ]  # fmt: skip
    header = ("asked", "figure", "service's best", "", "against", "", "")
    return table(header, rows, text_columns=3) if rows else "Nothing: in no cell."


def preparations(measured: Measured) -> str:
    """What of loading and training takes longer in PostgreSQL."""
    return "\n".join(f"- {line}" for line in slower(measured))


def starved(measured: Measured) -> str:
    """The runs in which a server did not have all of its cores."""
    rows = []
    for cell in measured.result.cells:
        best = max((run.requests_per_second for run in cell.runs), default=0)
        most = (
            cores(next(run for run in cell.runs if run.requests_per_second == best))
            if cell.runs
            else {}
        )
        for place in cell.starved:
            run, used = cell.runs[place], cores(cell.runs[place])
            busy = ", ".join(f"{part} {used[part]:.2f} of {most[part]:.2f}" for part in used)
            rows.append(
                (
                    f"`{cell.name}`",
                    str(place + 1),
                    whole(run.requests_per_second),
                    whole(best),
                    busy,
                )
            )
    header = (
        "cell",
        "run",
        "requests/s",
        "in the best run",
        "cores used, of those in the best run",
    )
    return table(header, rows) if rows else "None."


def skipped(measured: Measured) -> str:
    """The cells that have no figure, and why, each reason once."""
    why: dict[str, list[str]] = {}
    for cell in measured.result.cells:
        if cell.skipped and cell.rate is None:
            why.setdefault(cell.skipped, []).append(cell.name)
    if not why:
        return "Every cell was measured."
    return "\n".join(
        f"- {len(names)} cells such as `{names[0]}`: {reason}." for reason, names in why.items()
    )
