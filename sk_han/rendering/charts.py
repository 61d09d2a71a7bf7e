"""Charts of a report, as SVG: confusion, calibration, lengths."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.rendering.html import escaped, fold, isolated, more, plot_matrix
from sk_han.rendering.report_documents import BASELINE, Bounds, entries_of, names_markup, prefix_of
from sk_han.rendering.shading import LEVELS, Reported, percent, theme_of
from sk_han.utils.messages import counted
from sk_han.utils.metrics import BINS, Bin

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_LABELS = 25


UPRIGHT_FROM = 6  # labels, from which on their names stand upright above the columns


SMALL_FROM = 11


KINDS_OPEN = 12  # kinds of mistakes that have a line before the others are folded


def confusion(report: Reported, bounds: Bounds) -> str:
    """Return the confusion matrix, whose numbers lead to their documents."""
    shown = _labels_shown(report)
    cells = [(i, j) for i in shown for j in shown if report.confusion[i, j]]
    cells.sort(key=lambda cell: (cell[0] == cell[1], -report.confusion[cell]))
    limit = _fair(
        [int(report.confusion[cell]) for cell in cells], bounds.documents, bounds.in_a_list
    )
    left_out = ""
    if len(shown) < len(report.labels):
        n_wrong = int(report.n_documents - np.trace(report.confusion))
        n_shown = sum(int(report.confusion[i, j]) for i, j in cells if i != j)
        left_out = (
            f"<p>These are the {len(shown)} labels with the most mistakes, of "
            f"{len(report.labels):,}: {n_shown:,} of {n_wrong:,} mistakes are between two of "
            "them.</p>"
            if n_wrong
            else f"<p>These are {len(shown)} of {len(report.labels):,} labels.</p>"
        )
    wrong = [_cell(report, i, j, limit, bounds) for i, j in cells if i != j]
    right = [_cell(report, i, i, limit, bounds) for i, j in cells if i == j]
    lists = "".join(wrong[:KINDS_OPEN])
    if wrong[KINDS_OPEN:]:
        kinds = counted(len(wrong) - KINDS_OPEN, "more kind")
        lists += _folded(f"{kinds} of mistakes", wrong[KINDS_OPEN:])
    if right:
        lists += _folded("Documents predicted right", right)
    return (
        "<p>A row is a label, a column what the model predicted; the blue diagonal is right. The "
        "stronger the orange, the larger the share of the label that is lost there. Each number "
        "leads to its documents.</p>"
        f"{left_out}{_matrix(report, shown)}<h3>The documents behind the numbers</h3>{lists}"
    )


def plot_confusion(report: Reported, ax: Axes | None) -> Axes:
    """Draw numbers of documents by label and prediction, shaded by their share of the label."""
    shown = _labels_shown(report)
    columns = [j for j in shown if j < report.n_classes]
    counts = report.confusion[np.ix_(shown, columns)]
    of_label = np.maximum(report.confusion.sum(axis=1)[shown], 1)
    rows, predicted = ([report.labels[i] for i in labels] for labels in (shown, columns))
    ax = plot_matrix(counts / of_label[:, None], rows, predicted, ax, "Report.plot")
    return _with_numbers(ax, counts, "label", "predicted")


def plot_taken(report: Reported, ax: Axes | None) -> Axes:
    """Draw numbers of documents by label missed and label wrongly given, shaded by row."""
    taken, last = report.taken, len(report.labels)
    order = np.argsort(-(taken.sum(axis=0) + taken.sum(axis=1))[:last], kind="stable")
    shown = [*sorted(order[:MOST_LABELS].tolist()), last]
    counts = taken[np.ix_(shown, shown)]
    shares = counts / np.maximum(taken.sum(axis=1)[shown], 1)[:, None]
    names = [report.labels[i] for i in shown[:-1]]
    ax = plot_matrix(
        shares, [*names, "none missed"], [*names, "none given"], ax, "MultilabelReport.plot"
    )
    return _with_numbers(ax, counts, "missed", "wrongly given")


def _with_numbers(ax: Axes, counts: NDArray[np.int64], rows: str, columns: str) -> Axes:
    """Write counts into the cells of a matrix, and what its rows and columns are."""
    color = theme_of(ax).text
    for row, column in np.argwhere(counts).tolist():
        number = f"{counts[row, column]:,}"
        ax.text(column, row, number, ha="center", va="center", size="small", color=color)
    ax.set_xlabel(columns)
    ax.xaxis.set_label_position("top")
    ax.set_ylabel(rows)
    return ax


def _labels_shown(report: Reported) -> list[int]:
    """Return the labels with the most mistakes, those that occur somewhere."""
    wrong = report.confusion - np.diag(np.diag(report.confusion))
    n_mistakes = wrong.sum(axis=0) + wrong.sum(axis=1)
    n_documents = report.confusion.sum(axis=0) + report.confusion.sum(axis=1)
    order = np.lexsort((-n_documents, -n_mistakes))
    found = order[:MOST_LABELS]
    occurring = found[(n_documents[found] > 0) | (found < report.n_classes)]
    return sorted(occurring.tolist())


def _fair(counts: Sequence[int], most: int, most_of_one: int) -> int:
    """Return how many documents each list may show, so that all together are at most `most`."""
    limit = 1
    while limit < most_of_one and sum(min(limit + 1, count) for count in counts) <= most:
        limit += 1
    return limit


def _matrix(report: Reported, shown: list[int]) -> str:
    prefix = prefix_of(report)
    columns = [j for j in shown if j < report.n_classes]
    kinds = "han-confusion" + (" han-upright" if len(columns) >= UPRIGHT_FROM else "")
    kinds += " han-many" if len(columns) >= SMALL_FROM else ""
    names = names_markup(report.labels)
    head = "".join(f'<th scope="col">{names[j]}</th>' for j in columns)
    n_of_label = np.maximum(report.confusion.sum(axis=1, keepdims=True), 1)
    shares = report.confusion / n_of_label
    worst = max(0.1, float((shares - np.diag(np.diag(shares))).max()))
    rows = []
    for i in shown:
        tds = []
        for j in columns:
            count = int(report.confusion[i, j])
            if not count:
                tds.append('<td class="han-none">\N{MIDDLE DOT}</td>')
                continue
            level = max(1, round(LEVELS * shares[i, j] / (1 if i == j else worst)))
            title = f"{report.labels[i]}, predicted {report.labels[j]}: {counted(count)}"
            tds.append(
                f'<td class="{"p" if i == j else "m"}{level}">'
                f'<a href="#{prefix}-{i}-{j}" title="{escaped(title)}">{count:,}</a></td>'
            )
        rows.append(f'<tr><th scope="row">{names[i]}</th>{"".join(tds)}</tr>')
    corner = '<th class="han-small">label \\ predicted</th>'
    return (
        f'<div class="han-wide"><table class="{kinds}"><thead><tr>{corner}{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _folded(title: str, parts: Sequence[str]) -> str:
    return fold(title, f"<div>{''.join(parts)}</div>", "han-fold")


def _cell(report: Reported, i: int, j: int, limit: int, bounds: Bounds) -> str:
    rows, label = report.rows(i, j), isolated(report.labels[i])
    if i == j:
        rows = rows[::-1]
        title, order = f"{label}, predicted right", "the least sure first"
    else:
        title, order = f"{label} taken for {isolated(report.labels[j])}", "the surest first"
    order = f", {order}" if len(rows) > 1 else ""
    return fold(
        f'{title} <span class="han-small">{counted(len(rows))}{order}</span>',
        f'<div id="{prefix_of(report)}-{i}-{j}">{entries_of(report, rows[:limit], bounds)}'
        f"{more(len(rows) - limit, 'document')}</div>",
        "han-fold",
    )


WIDTH, HEIGHT = 460, 300


LEFT, RIGHT, TOP, BOTTOM = 58, 22, 10, 48


class Axis(NamedTuple):
    """A scale from `low` to `high`, with its ticks as (value, text)."""

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]


def ticks(low: float, high: float, *, whole: bool = False) -> list[tuple[float, str]]:
    """Return up to seven round values between two numbers, with their texts."""
    rough = (high - low) / 6 or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    if whole:
        step = max(1.0, round(step))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(i * step, f"{i * step:.6g}") for i in range(first, last + 1)]


class Chart:
    """A chart that grows by marks; coordinates are values of its axes.

    The description is for readers who do not see it. `kind` of a mark is "toward", "against" or
    "muted", the names of colours in the style sheet.
    """

    def __init__(self, x: Axis, y: Axis, description: str) -> None:
        self._x, self._y, self._description = x, y, description
        self._marks: list[str] = []

    def line(
        self, points: Iterable[tuple[float, float]], kind: str, *, dashed: bool = False
    ) -> None:
        """Draw a line through points."""
        path = " ".join(f"{self._left(x)},{self._top(y)}" for x, y in points)
        more = " han-dashed" if dashed else ""
        self._marks.append(f'<polyline class="han-line han-{kind}{more}" points="{path}"/>')

    def dots(
        self,
        points: Iterable[tuple[float, float]],
        kind: str,
        titles: Iterable[str],
        *,
        hollow: bool = False,
    ) -> None:
        """Draw points, each with a title that browsers show under the pointer."""
        more = " han-hollow" if hollow else ""
        self._marks += [
            f'<circle class="han-dot han-{kind}{more}" cx="{self._left(x)}" cy="{self._top(y)}" '
            f'r="3.5"><title>{escaped(title)}</title></circle>'
            for (x, y), title in zip(points, titles, strict=True)
        ]

    def interval(self, x: float, low: float, high: float) -> None:
        """Draw the interval of a value, from `low` to `high`."""
        self._marks.append(
            f'<path class="han-line han-toward" d="M{self._left(x)} {self._top(low)}'
            f'V{self._top(high)}"/>'
        )

    def bar(self, low: float, high: float, y: float, title: str) -> None:
        """Draw a bar from the lower end of the axis to `y`."""
        left, top, bottom = self._left(low), self._top(y), self._top(self._y.low)
        self._marks.append(
            f'<rect class="han-fill" x="{left}" y="{top}" '
            f'width="{max(0.0, self._left(high) - left - 1):.1f}" height="{bottom - top:.1f}">'
            f"<title>{escaped(title)}</title></rect>"
        )

    def markup(self) -> str:
        """Return the chart as an SVG element."""
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        grid = "".join(
            f'<path class="han-grid" d="M{LEFT} {self._top(value)}H{right}"/>'
            f'<text x="{LEFT - 7}" y="{self._top(value) + 4:.1f}" text-anchor="end">'
            f"{escaped(text)}</text>"
            for value, text in self._y.ticks
        ) + "".join(
            f'<text x="{self._left(value)}" y="{bottom + 17}" text-anchor="middle">'
            f"{escaped(text)}</text>"
            for value, text in self._x.ticks
        )
        middle = (TOP + bottom) / 2
        names = (
            f'<text class="han-axis" x="{(LEFT + right) / 2}" y="{HEIGHT - 8}" '
            f'text-anchor="middle">{escaped(self._x.label)}</text>'
            f'<text class="han-axis" x="14" y="{middle}" text-anchor="middle" '
            f'transform="rotate(-90 14 {middle})">{escaped(self._y.label)}</text>'
        )
        return (
            f'<svg class="han-chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{escaped(self._description)}">{grid}{"".join(self._marks)}'
            f'<path class="han-base" d="M{LEFT} {bottom}H{right}"/>{names}</svg>'
        )

    def _left(self, x: float) -> float:
        share = (x - self._x.low) / ((self._x.high - self._x.low) or 1.0)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def _top(self, y: float) -> float:
        share = (y - self._y.low) / ((self._y.high - self._y.low) or 1.0)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


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
