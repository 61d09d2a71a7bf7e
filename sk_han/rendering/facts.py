"""Names with values, as lines of text and as a table of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sk_han.rendering.markup import escaped
from sk_han.utils.visible_text import in_one_line

__all__ = ["fact_lines", "facts_table", "rows_in_words", "table_lines", "table_markup"]

_ROWS_SHOWN = 5


def fact_lines(facts: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each name with its value; the values stand below each other."""
    width = max((len(name) for name, _ in facts), default=0)
    return [
        f"{name:<{width}}  {in_one_line(value)}".rstrip().replace("\N{NO-BREAK SPACE}", " ")
        for name, value in facts
    ]


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    r"""Return a table as lines: the first column starts at the left, the others end at the right.

    Examples
    --------
    >>> from sk_han.rendering.facts import table_lines
    >>> print("\n".join(table_lines(["", "words"], [["shortest", "7"], ["longest", "1,200"]])))
              words
    shortest      7
    longest   1,200
    """
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in cells
    ]


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
