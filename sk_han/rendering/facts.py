"""Names with values, as lines of text and as a table of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sk_han.rendering.markup import escaped, page
from sk_han.utils.visible_text import in_one_line

Facts = Sequence[tuple[str, str]]


def facts_text(title: str, facts: Facts) -> str:
    """Return a title and a line for each fact."""
    return "\n".join([title, *(f"  {line}" for line in fact_lines(facts))])


def facts_page(title: str, facts: Facts, full_page: bool) -> str:
    """Return a title and a table of facts as a page or a fragment of HTML."""
    title = escaped(title)
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th><td><bdi>{escaped(value)}</bdi></td></tr>'
        for name, value in facts
    )
    body = f'<table class="han-facts"><tbody>{rows}</tbody></table>'
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
