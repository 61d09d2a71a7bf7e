"""HTML of parts and of whole pages; all text that goes into them is escaped here."""

from __future__ import annotations

from html import escape
from typing import Any

from sk_han.rendering.rows import visible
from sk_han.rendering.style import stylesheet

__all__ = ["bar", "escaped", "isolated", "page", "with_minus"]


def page(body: str, title: str, full_page: bool) -> str:
    """Put the style sheet before a body, and a page around both if asked."""
    style = f"<style>\n{stylesheet()}</style>"
    if not full_page:
        return f'{style}\n<div class="sk-han">{body}</div>\n'
    return (
        '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{title}</title>\n{style}\n</head>\n<body class="sk-han">\n{body}\n</body>\n'
        "</html>\n"
    )


def escaped(text: Any) -> str:
    r"""Give text, or a label's `str`, as HTML that shows it.

    Control characters and lone surrogates are replaced by visible ones, so the result can be
    written in UTF-8.

    Examples
    --------
    >>> from sk_han.rendering.markup import escaped
    >>> escaped("<b>\x00")
    '&lt;b&gt;␀'
    """
    # A parser turns a raw carriage return into a line feed, and offsets would drift.
    return escape(visible(str(text))).replace("\r", "&#13;")


def isolated(label: Any) -> str:
    """Give a label whose direction of writing does not reach the words around it."""
    return f"<bdi>{escaped(label)}</bdi>"


def bar(share: float, scale: str | None = None) -> str:
    """Draw a bar filled to this share, in the colour of a scale."""
    kind = f' class="han-{scale}"' if scale else ""
    return f'<span class="han-bar"><i{kind} style="width:{100 * share:.1f}%"></i></span>'


def with_minus(text: str) -> str:
    """Give numbers a real minus sign, which is as wide as the plus.

    Examples
    --------
    >>> from sk_han.rendering.markup import with_minus
    >>> with_minus("-0.250")
    '−0.250'
    """
    return text.replace("-", "\N{MINUS SIGN}")
