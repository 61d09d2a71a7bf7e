"""The charts of a report: reliability, lengths, training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle

from sk_han.rendering.markup import escaped
from sk_han.rendering.numbers import percent
from sk_han.rendering.protocols import Reported
from sk_han.rendering.report.svg_charts import Axis, Chart, ticks
from sk_han.rendering.report.verdicts import BASELINE
from sk_han.utils.counts import counted
from sk_han.utils.metrics import BINS, Bin

_SHARES = [(i / 5, f"{20 * i} %") for i in range(6)]
_HEIGHT_OF_COUNTS = 0.25  # of the chart


def reliability_chart(report: Reported) -> str:
    """Return the curve of confidence and accuracy, over the numbers of documents."""
    confidence = Axis("probability of the predicted label", 0, 1, _SHARES)
    chart = Chart(
        confidence,
        Axis("right", 0, 1, _SHARES),
        "Share of right predictions by the probability of the predicted label",
    )
    bins = report.reliability
    most = max(b.n_documents for b in bins)
    for b in bins:
        number = min(BINS - 1, max(0, math.ceil(b.confidence * BINS - 1e-9) - 1))
        chart.bar(
            number / BINS,
            (number + 1) / BINS,
            _HEIGHT_OF_COUNTS * b.n_documents / most,
            counted(b.n_documents),
        )
    chart.line([(0, 0), (1, 1)], "muted", dashed=True)
    entries = [("toward", False, "the model")]
    if report.baseline_reliability:
        _curve(chart, report.baseline_reliability, "against", hollow=True)
        entries.append(("against", True, BASELINE))
    for b in bins:
        chart.interval(b.confidence, b.low, b.high)
    _curve(chart, bins, "toward")
    caption = (
        "On the dashed line a probability is what it says: of the documents predicted with 80 %, "
        "80 % are right. Below the line the model is too sure, above it not sure enough. "
        "Upright lines: 95 % intervals, long where documents are few. Grey bars: how many "
        "documents."
    )
    return _figure(chart.markup(), entries, caption)


def _curve(chart: Chart, bins: Sequence[Bin], kind: str, *, hollow: bool = False) -> None:
    places = [(b.confidence, b.accuracy) for b in bins]
    titles = [
        f"{counted(b.n_documents)} predicted with {percent(b.confidence, 1)}: "
        f"{percent(b.accuracy, 1)} right"
        for b in bins
    ]
    chart.line(places, kind)
    chart.dots(places, kind, titles, hollow=hollow)


def length_chart(report: Reported) -> str:
    """Return accuracy by the number of words."""
    bins = report.by_length
    names = [
        f"{b.fewest_words:,}"
        if b.fewest_words == b.most_words
        else f"{b.fewest_words:,}\N{EN DASH}{b.most_words:,}"
        for b in bins
    ]
    words = Axis(
        "words of a document", -0.5, len(bins) - 0.5, [(i, name) for i, name in enumerate(names)]
    )
    chart = Chart(words, Axis("right", 0, 1, _SHARES), "Share of right predictions by length")
    for i, b in enumerate(bins):
        chart.interval(i, b.low, b.high)
    chart.dots(
        [(i, b.accuracy) for i, b in enumerate(bins)],
        "toward",
        [
            f"{counted(b.n_documents)} of {name} words: {percent(b.accuracy, 1)} right"
            for name, b in zip(names, bins, strict=True)
        ],
    )
    each = sorted({b.n_documents for b in bins})
    numbers = f"{each[0]:,}" if len(each) == 1 else f"{each[0]:,} to {each[-1]:,}"
    caption = (
        f"Each point is {numbers} document{'' if each == [1] else 's'} of similar length; its line "
        "is the 95 % interval. Where the lines of two points overlap much, their difference may "
        "be chance."
    )
    return _figure(chart.markup(), [], caption)


def history_charts(report: Reported) -> list[str]:
    """Return losses and, where there are any, scores by epoch."""
    names = {name for epoch in report.history for name in epoch if name.startswith("valid_")}
    losses = [("train_loss", "toward", True), ("valid_loss", "against", False)]
    kinds = cycle(("against", "toward", "muted"))
    scores = [(name, next(kinds), i > 0) for i, name in enumerate(sorted(names - {"valid_loss"}))]
    charts = _by_epoch(report, losses, "loss"), _by_epoch(report, scores, "score")
    return [chart for chart in charts if chart]


def _by_epoch(report: Reported, keys: Sequence[tuple[str, str, bool]], label: str) -> str:
    """Return a chart of these values of epochs, each with its colour and hollowness."""
    curves = []
    for key, kind, hollow in keys:
        part, _, what = key.partition("_")
        name = f"{'training' if part == 'train' else 'validation'} {what.replace('_', ' ')}"
        if points := _points(report.history, key):
            curves.append((kind, hollow, name, points))
    if not curves:
        return ""
    epochs = [epoch for *_, points in curves for epoch, _ in points]
    values = [value for *_, points in curves for _, value in points]
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = max(0.0, low - room) if low >= 0 else low - room, high + room
    chart = Chart(
        Axis("epoch", min(epochs), max(epochs), ticks(min(epochs), max(epochs), whole=True)),
        Axis(label, low, high, ticks(low, high)),
        f"{label} by epoch of training",
    )
    for kind, hollow, name, points in curves:
        chart.line(points, kind, dashed=hollow)
        titles = [f"{name}, epoch {epoch:g}: {value:.4f}" for epoch, value in points]
        chart.dots(points, kind, titles, hollow=hollow)
    return _figure(chart.markup(), [(kind, hollow, name) for kind, hollow, name, _ in curves], "")


def _points(history: Sequence[Mapping[str, float]], name: str) -> list[tuple[float, float]]:
    return [
        (float(epoch.get("epoch", i)), float(epoch[name]))
        for i, epoch in enumerate(history, start=1)
        if epoch.get(name) is not None and math.isfinite(epoch[name])
    ]


def _figure(chart: str, entries: Sequence[tuple[str, bool, str]], caption: str) -> str:
    """Return a chart with its legend and caption; an entry is colour, hollowness and name."""
    legend = "".join(
        '<span><svg class="han-key" viewBox="0 0 26 12" aria-hidden="true">'
        f'<path class="han-line han-{kind}" d="M1 6H25"/>'
        f'<circle class="han-dot han-{kind}{" han-hollow" if hollow else ""}" cx="13" cy="6" '
        f'r="3.5"/></svg> {escaped(name)}</span>'
        for kind, hollow, name in entries
    )
    legend = f'<div class="han-keys">{legend}</div>' if legend else ""
    text = f"<p>{escaped(caption)}</p>" if caption else ""
    return f'<figure>{chart}<figcaption class="han-small">{legend}{text}</figcaption></figure>'
