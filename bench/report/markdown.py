"""Tables of Markdown, whose source can be read as well."""

from collections.abc import Sequence

from bench.report.figures import NOTHING


def table(header: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1) -> str:
    """Rows under a header: the first columns are text, the others are figures and stand to the right."""
    if not rows:
        return NOTHING
    rule = ["---" if column < text_columns else "--:" for column in range(len(header))]
    return "\n".join(_row(cells) for cells in (header, rule, *rows))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def sentence_list(parts: Sequence[str]) -> str:
    """`a`, `a and b`, or `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
