"""HTML elements and pages; all text that goes into them is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from sk_han.rendering.colors import style, stylesheet
from sk_han.rendering.shading import brief
from sk_han.utils.counts import counted
from sk_han.utils.visible_text import visible

EXCERPT = 160  # characters
LONGEST = 1_500  # characters of a text that is not explained


def page(body: str, title: str, full_page: bool, kind: str = "") -> str:
    """Return a body with the style sheet, as a fragment or a full page.

    Pages of a kind have styles of their own, for them alone, since a notebook may hold several.
    """
    classes, more_style = "sk-han", ""
    if kind:
        classes += f" han-kind-{kind}"
        more_style = style(kind).replace(".sk-han", f".sk-han:where(.han-kind-{kind})")
    styles = f"<style>\n{stylesheet()}{more_style}</style>"
    if not full_page:
        return f'{styles}\n<div class="{classes}">{body}</div>\n'
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n{styles}\n</head>\n"
        f'<body class="{classes}">\n{body}\n</body>\n</html>\n'
    )


def escaped(text: Any) -> str:
    """Return text, or the `str` of a label, escaped for HTML, as characters that UTF-8 can hold."""
    # A parser turns a raw carriage return into a line feed, and offsets would be wrong.
    return escape(visible(str(text))).replace("\r", "&#13;")


def isolated(label: Any) -> str:
    """Return a label whose writing direction does not affect the words around it."""
    return f"<bdi>{escaped(label)}</bdi>"


def excerpt(text: str, longest: int) -> str:
    """Return the beginning of a text in one line, escaped."""
    words = " ".join(text[: 2 * longest].split())
    return escaped(words[:longest] + ("\N{HORIZONTAL ELLIPSIS}" if len(words) > longest else ""))


def entry(
    head: str,
    text: str | None,
    content: str | None = None,
    *,
    longest: int = LONGEST,
    link: str = "",
    is_open: bool = False,
) -> str:
    """Return a document that opens: a head with the beginning of its text, and below its content.

    Without content that is the text, of a very long one the first characters.
    """
    if content is None:
        if text is None:
            return f'<div class="han-entry">{head}</div>'
        rest = len(text) - longest
        whole = escaped(text[:longest])
        if rest > 0:
            left_out = f"and {counted(rest, 'more character')}"
            whole += f'\N{HORIZONTAL ELLIPSIS} <span class="han-small">{left_out}</span>'
        content = f'<div class="han-whole">{whole}</div>{link}'
    beginning = "" if text is None else excerpt(text, EXCERPT) or "no text"
    head = f'{head} <span class="han-small han-excerpt"><bdi>{beginning}</bdi></span>'
    return fold(head, content, "han-entry", is_open=is_open)


def more(n: int, what: str = "") -> str:
    """Say how many things are not shown, if there are any."""
    things = counted(n, f"more {what}") if what else f"{n:,} more"
    return f'<p class="han-small">and {things}</p>' if n > 0 else ""


def fold(summary: str, content: str, kind: str = "", *, is_open: bool = False) -> str:
    """Return content that unfolds under its summary; `kind` is a class of the style sheet."""
    classes = f' class="{kind}"' if kind else ""
    state = " open" if is_open else ""
    return f"<details{classes}{state}><summary>{summary}</summary>{content}</details>"


def table(head: Iterable[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Return a table of markup; the first cell of each row names it."""
    classes = f' class="{kind}"' if kind else ""
    heads = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for name, *cells in rows
    )
    return f"<table{classes}><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def brief_number(value: float, signed: bool = False) -> str:
    """Return a number of two digits, with a minus sign that is as wide as the plus."""
    return with_minus(brief(value, signed))


def bar(share: float, scale: str | None = None, threshold: float | None = None) -> str:
    """Return a bar filled to this share, in the colour of a scale, with a tick at a threshold."""
    kind = f' class="han-{scale}"' if scale else ""
    tick = ""
    if threshold is not None:
        tick = f'<b style="inset-inline-start:{100 * min(threshold, 1):.1f}%"></b>'
    return f'<span class="han-bar"><i{kind} style="width:{100 * share:.1f}%"></i>{tick}</span>'


def with_minus(text: str) -> str:
    """Replace hyphens by minus signs, which are as wide as the plus."""
    return text.replace("-", "\N{MINUS SIGN}")
