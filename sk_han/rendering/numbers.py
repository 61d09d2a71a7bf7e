"""Numbers in words, as all pages and texts write them."""

from __future__ import annotations

__all__ = ["counted", "percent"]


def counted(n: int, what: str = "document") -> str:
    """Write a number of things.

    Examples
    --------
    >>> from sk_han.rendering.numbers import counted
    >>> counted(1), counted(1200, "label")
    ('1 document', '1,200 labels')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def percent(share: float, decimals: int | None = None) -> str:
    r"""Write a share as a percentage, by default with a decimal where it is small.

    The blank before the sign does not break.

    Examples
    --------
    >>> from sk_han.rendering.numbers import percent
    >>> written = [percent(0.073), percent(0.012), percent(0.0002), percent(0.0), percent(0.947, 1)]
    >>> [text.replace("\N{NO-BREAK SPACE}", " ") for text in written]
    ['7 %', '1.2 %', 'below 0.1 %', '0 %', '94.7 %']
    """
    if decimals is None:
        if 0 < abs(share) < 0.001:
            return "below 0.1\N{NO-BREAK SPACE}%"
        decimals = 1 if 0 < abs(share) < 0.0195 else 0
    return f"{100 * share:.{decimals}f}\N{NO-BREAK SPACE}%"
