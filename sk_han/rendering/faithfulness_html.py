"""A faithfulness report as HTML."""

from __future__ import annotations

import math

from sk_han.rendering.markup import bar, escaped, fold, page, with_minus
from sk_han.rendering.protocols import Measured

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
    "decision.",
    "auprc": "whether the words that people marked come first: 1 if all do (average precision).",
    "token_f1": "of as many first words as people marked, how many they marked (F1).",
}
_SIGN = {True: "\N{UPWARDS ARROW} higher is better", False: "\N{DOWNWARDS ARROW} lower is better"}


def render_faithfulness(report: Measured, *, full_page: bool = False) -> str:
    """Return a table of the methods, what it says in words, and its terms behind a fold."""
    heads = "".join(
        f'<th scope="col">{_HEADINGS[metric]}'
        f'<div class="han-small">{escaped(metric)}</div>'
        f'<div class="han-small">{_SIGN[report.higher_is_better(metric)]}</div></th>'
        for metric in report.metrics
    )
    rows = "".join(
        f'<tr><th scope="row">{escaped(method)}</th>'
        + "".join(_cell(report, metric, method) for metric in report.metrics)
        + f'<td class="han-number">{1000 * report.seconds[method]:.1f} ms</td></tr>'
        for method in report.methods
    )
    terms = "".join(
        f"<p><b>{escaped(metric)}</b>: {_MEANINGS[metric]}</p>" for metric in report.metrics
    )
    terms += (
        f"<p>{escaped(report.coverage)} \N{ALMOST EQUAL TO} random: the interval of the difference "
        "to random holds 0.</p>"
    )
    body = (
        '<div class="han-legend han-small"><p>Are the words that an explanation names those that '
        "decide? Each method ranked the words of a document; the first of them were taken out, and "
        "the model decided again. Compare each method with <b>random</b>, which ranks by chance: "
        "one that is no better says nothing about this model.</p>"
        f"{fold('What the columns mean', terms)}</div>"
        '<div style="overflow-x:auto"><table class="han-report"><thead><tr>'
        f'<th scope="col">method</th>{heads}<th scope="col">a document</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    return page(body, "Faithfulness", full_page)


def _cell(report: Measured, metric: str, method: str) -> str:
    mean = report.means[metric][method]
    low, high = report.intervals[metric][method]
    interval = "no interval" if math.isnan(low) else f"{low:.3f} to {high:.3f}"
    chance = " \N{ALMOST EQUAL TO} random" if report.may_be_chance(metric, method) else ""
    return (
        f"<td>{bar(min(1.0, max(0.0, mean)), 'attention')}"
        f'<span class="han-number"><b>{with_minus(f"{mean:.3f}")}</b>{chance}</span>'
        f'<div class="han-small han-number">{with_minus(interval)}</div></td>'
    )
