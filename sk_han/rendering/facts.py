"""Names with values, as lines of text and as a table of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sk_han.rendering.markup import escaped, page, table
from sk_han.utils.containers import listed
from sk_han.utils.visible_text import in_one_line

Facts = Sequence[tuple[str, str]]

_ROWS_SHOWN = 5


def facts_text(title: str, facts: Facts) -> str:
    """Return a title and a line for each fact."""
    return "\n".join([title, *(f"  {line}" for line in fact_lines(facts))])


def facts_page(title: str, content: Facts | str, full_page: bool) -> str:
    """Return a title and a table of facts, or other content, as a page or a fragment of HTML."""
    title = escaped(title)
    body = content if isinstance(content, str) else facts_table(content)
    return page(f'<p class="han-label">{title}</p>{body}', title, full_page)


def fact_lines(facts: Facts) -> list[str]:
    """Return a line for each name with its value; the values stand below each other."""
    width = max((len(name) for name, _ in facts), default=0)
    return [
        f"{name:<{width}}  {in_one_line(value)}".rstrip().replace("\N{NO-BREAK SPACE}", " ")
        for name, value in facts
    ]


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table as lines: the first column starts at the left, the others end at the right."""
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in cells
    ]


def facts_table(facts: Facts) -> str:
    """Return a table of HTML with a row for each name and its value."""
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th><td><bdi>{escaped(value)}</bdi></td></tr>'
        for name, value in facts
    )
    return f'<table class="han-facts"><tbody>{rows}</tbody></table>'


def table_markup(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of HTML; the first cell of each row names it."""
    cells = [list(map(escaped, row)) for row in rows]
    return table(map(escaped, header), cells, "han-facts han-figures")


def rows_in_words(rows: Sequence[Any]) -> str:
    """Return the first row numbers, and how many more there are."""
    return f"row{'s' if len(rows) > 1 else ''} {listed(rows, _ROWS_SHOWN, str)}"
