"""Names with values, as lines of text and as a table of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sk_han.rendering.markup import escaped
from sk_han.rendering.rows import in_one_line

__all__ = ["fact_lines", "facts_table", "percent", "rows_in_words", "table_markup"]

_ROWS_SHOWN = 5


def fact_lines(facts: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each name with its value; the values stand below each other."""
    width = max((len(name) for name, _ in facts), default=0)
    return [f"{name:<{width}}  {in_one_line(value)}".rstrip() for name, value in facts]


def facts_table(facts: Iterable[tuple[str, str]]) -> str:
    """Return a table of HTML with a row for each name and its value."""
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th><td><bdi>{escaped(value)}</bdi></td></tr>'
        for name, value in facts
    )
    return f'<table class="han-facts"><tbody>{rows}</tbody></table>'


def table_markup(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of HTML; the first cell of each row names it."""
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in header)
    body = "".join(
        f'<tr><th scope="row">{escaped(row[0])}</th>'
        + "".join(f"<td>{escaped(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<table class="han-facts han-figures"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def percent(share: float) -> str:
    """Return a share in per cent, with a decimal where it is small.

    Examples
    --------
    >>> from sk_han.rendering.facts import percent
    >>> percent(0.731), percent(0.012), percent(0.0002), percent(0.0)
    ('73 %', '1.2 %', 'below 0.1 %', '0 %')
    """
    if 0 < share < 0.001:
        return "below 0.1 %"
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"


def rows_in_words(rows: Sequence[Any]) -> str:
    """Return the first row numbers, and how many more there are.

    Examples
    --------
    >>> from sk_han.rendering.facts import rows_in_words
    >>> rows_in_words([3]), rows_in_words(range(1, 8))
    ('row 3', 'rows 1, 2, 3, 4, 5 and 2 more')
    """
    shown = ", ".join(str(row) for row in rows[:_ROWS_SHOWN])
    more = f" and {len(rows) - _ROWS_SHOWN:,} more" if len(rows) > _ROWS_SHOWN else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"
