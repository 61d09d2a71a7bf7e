"""A faithfulness report as HTML and as a matplotlib figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sk_han.rendering.html import bar, escaped, fold, page, table, with_minus
from sk_han.rendering.shading import Measured, decimal, themed_axes
from sk_han.utils.messages import in_one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEADINGS = {
    "comprehensiveness": "fall without its first words",
    "sufficiency": "fall with these alone",
    "flip": "share that changes the decision",
    "auprc": "people's words ranked high",
    "token_f1": "people's words found",
}
_MEANINGS = {
    "comprehensiveness": "how far the probability of the decision falls without the words that the "
    "method ranks first: the further, the more it depended on them.",
    "sufficiency": "how far it falls when only these words are left; below 0 it rises.",
    "flip": "the smallest share of the words, taken out from the first on, that changes the "
    "decision; 1 where none does.",
    "auprc": "whether the words that people marked come first: 1 if all do (average precision).",
    "token_f1": "of as many first words as people marked, how many they marked (F1).",
}
_SIGN = {True: "\N{UPWARDS ARROW} higher is better", False: "\N{DOWNWARDS ARROW} lower is better"}


def render_faithfulness(report: Measured, *, full_page: bool) -> str:
    """Return a table of the methods, what it says in words, and its terms behind a fold."""
    heads = (
        f'{_HEADINGS[metric]}<div class="han-small">{escaped(metric)}</div>'
        f'<div class="han-small">{_SIGN[report.higher_is_better(metric)]}</div>'
        for metric in report.metrics
    )
    rows = (
        (
            escaped(method),
            *(_cell(report, metric, method) for metric in report.metrics),
            f'<span class="han-number">{1000 * report.seconds[method]:.1f} ms</span>',
        )
        for method in report.methods
    )
    figures = table(("method", *heads, "a document"), rows, "han-report")
    terms = "".join(
        f"<p><b>{escaped(metric)}</b>: {_MEANINGS[metric]}</p>" for metric in report.metrics
    )
    terms += (
        f"<p>{escaped(report.coverage)} \N{ALMOST EQUAL TO} random: the interval of the difference "
        "to random holds 0, or there is none.</p>"
    )
    body = (
        '<div class="han-legend han-small"><p>Are the words that an explanation names those that '
        "decide? Each method ranked the words of a document; the first of them were taken out, and "
        "the model decided again. Compare each method with <b>random</b>, which ranks by chance: "
        "one that is no better says nothing about this model.</p>"
        f"{fold('What the columns mean', terms)}</div>"
        f'<div style="overflow-x:auto">{figures}</div>'
    )
    return page(body, "Faithfulness", full_page)


def _cell(report: Measured, metric: str, method: str) -> str:
    mean = report.means[metric][method]
    if math.isnan(mean):
        return "\N{EN DASH}"
    low, high = report.intervals[metric][method]
    interval = "no interval" if math.isnan(low) else f"{decimal(low, 3)} to {decimal(high, 3)}"
    chance = " \N{ALMOST EQUAL TO} random" if report.may_be_chance(metric, method) else ""
    return (
        f"{bar(min(1.0, max(0.0, mean)), 'attention')}"
        f'<span class="han-number"><b>{with_minus(decimal(mean, 3))}</b>{chance}</span>'
        f'<div class="han-small han-number">{with_minus(interval)}</div>'
    )


def plot_faithfulness(report: Measured, ax: Axes | None) -> Axes:
    """Draw comprehensiveness and sufficiency of each method, with their intervals."""
    size = 8, 1.2 + 0.4 * len(report.methods)
    ax, theme = themed_axes(ax, "FaithfulnessReport.plot", size)
    rows = np.arange(len(report.methods))
    # Marker and offset distinguish the two without colour.
    for metric, color, marker, shift, better in (
        ("comprehensiveness", theme.toward[1], "o", -0.12, "higher"),
        ("sufficiency", theme.against[1], "s", 0.12, "lower"),
    ):
        means = np.array([report.means[metric][method] for method in report.methods])
        intervals = np.array([report.intervals[metric][method] for method in report.methods])
        ax.errorbar(
            means,
            rows + shift,
            xerr=[means - intervals[:, 0], intervals[:, 1] - means],
            fmt=marker,
            color=color,
            capsize=3,
            label=f"{metric} ({better} is better)",
        )
    ax.axvline(0, color=theme.rule, zorder=0)
    names = [in_one_line(method) for method in report.methods]
    ax.set_yticks(rows, names, parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel("fall in the probability of the likeliest class or label")
    ax.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    return ax
