"""Weights between the words of two texts as a table of HTML."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sk_han.rendering.markup import isolated, page
from sk_han.rendering.shading import LEVELS

__all__ = ["weights_html"]

Words = tuple[str, ...]
Weights = NDArray[np.float64]


def weights_html(sources: Words, targets: Words, weights: Weights, *, full_page: bool) -> str:
    """Return a table with a row for each target word and a column for each source word."""
    head = "".join(
        f'<th scope="col" style="writing-mode:vertical-rl">{isolated(word)}</th>'
        for word in sources
    )
    rows = "".join(
        f'<tr><th scope="row" style="text-align:end">{isolated(word)}</th>'
        + "".join(_cell(weight) for weight in row)
        + "</tr>"
        for word, row in zip(targets, weights.tolist(), strict=True)
    )
    table = (
        f'<table class="han-alignment"><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
    return page(f'<div style="overflow-x:auto">{table}</div>', "alignment", full_page)


def _cell(weight: float) -> str:
    level = round(LEVELS * weight)
    shade = f' style="background:var(--attention-{level})"' if level else ""
    return f'<td{shade} title="{weight:.2f}">&nbsp;&nbsp;</td>'
