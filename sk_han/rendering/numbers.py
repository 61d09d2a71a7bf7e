"""Numbers in words, as all pages and texts write them."""

from __future__ import annotations


def percent(share: float, decimals: int | None = None) -> str:
    """Write a share as a percentage, by default with a decimal where it is near 0 or 1.

    What is not the whole is not written as such.
    """
    if decimals is None:
        if 0 < abs(share) < 0.001:
            return "below 0.1\N{NO-BREAK SPACE}%"
        decimals = 1 if 0 < abs(share) < 0.0195 or 0.995 <= share < 1 else 0
    written = f"{100 * share + 0.0:.{decimals}f}"
    if share < 1 and float(written) == 100:
        return f"above {99.9 if decimals else 99}\N{NO-BREAK SPACE}%"
    return f"{written}\N{NO-BREAK SPACE}%".replace("-", "\N{MINUS SIGN}")


def decimal(value: float, places: int) -> str:
    """Write a number; what rounds to 0 has no sign."""
    return f"{round(value, places) + 0.0:.{places}f}"
