"""A report as blocks: scores, confusion, charts, mistakes, doubtful labels, duplicates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sk_han.rendering.blocks import (
    Axis,
    Block,
    Chart,
    Columns,
    Curve,
    Fold,
    Heading,
    Matrix,
    Sentence,
    Span,
    Table,
    Text,
    decimal,
    entry,
    more,
    names,
    number,
    parts_of,
    percent,
    points,
    ticks,
    with_minus,
)
from sk_han.rendering.shading import comparison, document_blocks, legend, named
from sk_han.utils.messages import agreeing, counted
from sk_han.utils.metrics import BINS, Bin

Reported: TypeAlias = Any  # a Report, whose class is above this module
MATRIX_LABELS = 25
LABELS_OPEN, LABELS_SHOWN = 12, 100
KINDS_OPEN = 12  # kinds of mistakes that have a line before the others are folded
LONGEST_SENTENCE = 1000
BASELINES = {
    False: "TF-IDF + logistic regression",
    True: "TF-IDF + a logistic regression for each label",
}
# Words of unknown documents, and those beyond the limits of a tokenizer, cannot be compared.
OF_TRAINING = "the words of a training document, as far as the model reads them"
MEASURES = {
    "accuracy": "accuracy",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "samples_f1": "samples F1",
    "subset_accuracy": "all labels right",
    "mean_average_precision": "mean average precision",
    "log_loss": "log loss",
    "calibration_error": "calibration error",
}
FURTHER_MEASURES = {
    f"{average}_{measure}": f"{average} {measure}"
    for average in ("micro", "macro", "samples")
    for measure in ("precision", "recall")
}
MEANINGS = {
    "accuracy": "the share of documents whose label is predicted right. After a figure stands the "
    "interval that contains it in 95 of 100 such samples of {units}.",
    "micro F1": "of all labels of all documents together: frequent labels count most. After a "
    "figure stands the interval that contains it in 95 of 100 such samples of {units} (Wilson's; "
    "of averages by bootstrap), a dash where samples do not show it. It contains macro figures "
    "less often where labels have fewer than five documents.",
    "macro F1": "how well each label is found, as the mean over labels, so that a rare label "
    "counts as much as a common one. 1 is perfect.",
    "samples F1": "the mean over documents.",
    "log loss": "how little probability the true label gets: 0 is perfect, 0.69 is that of a coin "
    "with two labels. Confident mistakes cost most. Of several labels the mean of all, in nats.",
    "calibration error": "how far the probability of the predicted label is from the share that "
    "is right, on average over 15 bins (Guo et al., 2017). 0 is perfect, but by chance a perfect "
    "model has about 0.15 on 30 documents and 0.04 on 500. Of several labels a document, over ten "
    "bins of all probabilities above 0.05.",
    "precision": "of the documents predicted so, the share that have this label.",
    "recall": "of the documents that have this label, the share predicted so.",
}
SUSPECTED = {
    False: "Labels that are likelier wrong than right, as audit_labels finds them: by Bayes' rule, "
    "with the rates at which labels are mistaken among the documents that the model is surest of. "
    "Only documents that the model gets wrong are listed. It cannot distinguish a wrong label from "
    "a mistake of its own: a person has to look.",
    True: "Marks that are likelier wrong than right, as audit_labels finds them for each label by "
    "itself: by Bayes' rule, with the rates at which it is missed or marked wrongly among the "
    "documents that the model is surest of. It cannot distinguish a wrong mark from a mistake of "
    "the model: a person has to look.",
}
_SHARES = [(i / 5, f"{20 * i} %") for i in range(6)]


class Bounds(NamedTuple):
    """How much is shown: documents in all lists and in one, their text, explained mistakes."""

    documents: int
    in_a_list: int
    characters: int
    mistakes: int


BOUNDS = {
    "page": Bounds(documents=600, in_a_list=20, characters=1500, mistakes=100),
    "notebook": Bounds(documents=120, in_a_list=8, characters=400, mistakes=5),
    "terminal": Bounds(documents=0, in_a_list=4, characters=400, mistakes=5),
}


def report_blocks(report: Reported, extent: str) -> Iterator[Block]:
    """Yield what is shown of a report on a page, in a notebook, or in short in a terminal."""
    in_terminal, bounds = extent == "terminal", BOUNDS[extent]
    on = f"{counted(report.n_documents)} of {counted(len(report.labels), 'label')}"
    yield Heading(f"Where {report.estimator} fails: {on}", 1)
    yield Sentence(_trained_note(report))
    yield from (Sentence(note, "han-note") for note in report.notes)
    said = [_gain_note(report), "" if report.several_labels else _sureness_note(report)]
    sections = {
        "scores": ("Scores", [*_score_blocks(report, in_terminal), *_labels_table(report, extent)]),
        "confusion": (
            "What is missed, and what is given instead"
            if report.several_labels
            else "Confusion matrix",
            _confusion_blocks(report, in_terminal, bounds),
        ),
        "curves": ("Confidence, length and training", _charts(report)),
        "mistakes": ("The worst mistakes", _mistakes(report, in_terminal, bounds)),
        "labels": (
            "Labels that may be marked wrongly"
            if report.several_labels
            else "Documents that look mislabelled",
            _suspects(report, in_terminal, bounds),
        ),
        "duplicates": ("Duplicates", _duplicates(report, in_terminal, bounds)),
    }
    shown = {name: (title, list(blocks)) for name, (title, blocks) in sections.items()}
    if in_terminal:
        del shown["curves"]
    else:
        links = [
            part
            for name, (title, blocks) in shown.items()
            if blocks
            for part in (Span(title, "link", link=_place(report, name)), " \N{MIDDLE DOT} ")
        ]
        yield Sentence(links[:-1], "han-small")
    if any(said):
        yield Sentence(" ".join(filter(None, said)), "han-lead")
    for name, (title, blocks) in shown.items():
        if blocks:
            yield Heading(title, id=_place(report, name))
            yield from blocks
    if in_terminal:
        yield Sentence("The whole report: report.to_html('report.html')")


def _place(report: Reported, name: object) -> str:
    """Return an id that is unique on a page of several reports, as a notebook is."""
    return f"han-{report.digest}-{name}"


def _trained_note(report: Reported) -> str:
    """Say whether the model was fitted to these documents."""
    if report.trained_on is None:
        return (
            "Whether the model was fitted to these documents is not known. If it was, the "
            "figures below say nothing of new ones; pass the training documents to have them "
            "compared."
        )
    n = len(report.trained_on)
    if n:
        found = f"{counted(n)} {agreeing(n, 'have')} {OF_TRAINING}"
        return f"{found}, so the figures are too good."
    return "None of these documents is known to have the words of a training document."


def _gain_note(report: Reported) -> str:
    """Say which of model and baseline is better, and whether that may be chance."""
    if report.gain is None:
        return ""
    gain, low, high = report.gain
    measure = "Micro F1" if report.several_labels else "Accuracy"
    interval = f" (95 % interval: {points(low)} to {points(high)} points)" if low < high else ""
    note = f"{measure} is that of the baseline"
    if gain:
        size, compared = points(abs(gain)).removeprefix("+"), "higher" if gain > 0 else "lower"
        note = f"{measure} is {size} points {compared} than the baseline's"
    if not (low > 0 or high < 0 or low == high):
        return f"{note}{interval}, which may be chance."
    return f"{note}{interval}{': here the simpler model is better' * (gain < 0)}."


def _sureness_note(report: Reported) -> str:
    """Say whether the model is as often right as it is confident, on average."""
    confidence, accuracy = float(report.confidence.mean()), float(report.right.mean())
    found = (
        "On average the model gives its answer a probability of "
        f"{percent(confidence, 1)}, and it is right on {percent(accuracy, 1)} of the documents"
    )
    scores = report.scores["model"]
    if scores["accuracy_low"] <= confidence <= scores["accuracy_high"]:
        return f"{found}: as far as they show, it is neither too sure nor too unsure."
    verdict = "too sure of itself" if confidence > accuracy else "less sure than it could be"
    return f"{found}: it is {verdict}."


def _score_blocks(report: Reported, in_terminal: bool) -> Iterator[Block]:
    """Yield the scores of the model and of what it is compared with, as columns."""
    heads: dict[str, Text] = {
        "model": "the model",
        "baseline": BASELINES[report.several_labels],
        "commonest": ["always ", names([report.commonest_label])[0]],
    }
    measures = MEASURES if in_terminal else MEASURES | FURTHER_MEASURES
    shown = {key: name for key, name in measures.items() if key in report.scores["model"]}
    rows = [
        [name, *(_with_interval(found, key) for found in report.scores.values())]
        for key, name in shown.items()
    ]
    yield Table(rows, ["", *(heads[key] for key in report.scores)], "scores")
    yield Sentence(report.baseline_note, "han-small")
    if in_terminal:
        return
    units = "documents" if report.groups is None else "groups of documents"
    present = {*shown.values(), "precision", "recall"}
    yield Fold(
        "What these numbers mean",
        [
            Sentence([Span(name, "strong"), f": {text.format(units=units)}"], "han-small")
            for name, text in MEANINGS.items()
            if name in present
        ],
    )


def _labels_table(report: Reported, extent: str) -> Iterator[Block]:
    """Yield the scores of each label, those of the lowest F1 first, those without one last."""
    in_terminal = extent == "terminal"
    if in_terminal and not report.several_labels:
        return
    found = sorted(report.class_scores, key=lambda each: 2.0 if each.f1 is None else each.f1)
    shown = found[: 2 * BOUNDS[extent].in_a_list if in_terminal else LABELS_SHOWN]
    head = ["label, the worst first", "documents", "precision", "recall", "F1"]
    n_figures = 3
    if report.several_labels:
        head += ["average precision", "log loss", "threshold"]
        n_figures = 6
    rows = [
        [name, f"{each.n_documents:,}", *map(decimal, each[3 : 3 + n_figures])]
        for name, each in zip(names(each.label for each in shown), shown, strict=True)
    ]
    blocks = [Table(rows, head), *more(len(found) - len(shown), "label")]
    if in_terminal:
        yield Heading("Each label")
        yield from blocks
    else:
        yield Fold("Each label", blocks, len(found) <= LABELS_OPEN)


def _labels_shown(report: Reported) -> list[int]:
    """Return the labels with the most mistakes, those that occur somewhere."""
    last = [len(report.labels)] * report.several_labels  # none
    counts = report.confusion[: len(report.labels), : len(report.labels)]
    wrong = report.confusion - np.diag(np.diag(report.confusion))
    n_wrong = (wrong.sum(axis=0) + wrong.sum(axis=1))[: len(counts)]
    n_documents = counts.sum(axis=0) + counts.sum(axis=1)
    found = np.lexsort((-n_documents, -n_wrong))[:MATRIX_LABELS]
    occurring = (n_wrong[found] > 0) | (n_documents[found] > 0) | (found < report.n_classes)
    return [*sorted(found[occurring].tolist()), *last]


def confusion_matrix(report: Reported, cells: Iterable[tuple[int, int]] = ()) -> Matrix:
    """Return the confusion matrix of some labels; cells lead to lists of their documents."""
    several, n, shown = report.several_labels, len(report.labels), _labels_shown(report)
    columns = [j for j in shown if several or j < report.n_classes]
    counts = report.confusion[np.ix_(shown, columns)]
    of_label = np.maximum(report.confusion.sum(axis=1)[shown], 1)[:, None]
    ends = ("none missed", "none given") if several else ("", "")
    rows, heads = (
        [report.labels[i] if i < n else end for i in labels]
        for labels, end in zip((shown, columns), ends, strict=True)
    )
    places = {i: place for place, i in enumerate(shown)}
    links = {(places[i], places[j]): _place(report, f"{i}-{j}") for i, j in cells}
    return Matrix(rows, heads, counts / of_label, report.axes, counts, not several, links)


def _confusion_blocks(report: Reported, in_terminal: bool, bounds: Bounds) -> Iterator[Block]:
    """Yield the matrix, the most frequent mistakes and the documents behind the numbers."""
    mixed, n = report.mixed_up(), len(report.labels)
    if not mixed:
        yield Sentence("Nothing is predicted wrong.")
    written = [*names(report.labels), "nothing"]
    kinds = {
        (i, j): (
            ["missed ", written[i], ", wrongly given ", written[j]]
            if report.several_labels
            else [written[i], " taken for ", written[j]]
        )
        for i, j, _ in mixed
    }
    if in_terminal:
        for i, j, count in mixed[: bounds.in_a_list]:
            yield Sentence([f"{count:>5,}  ", *kinds[i, j]])
        return
    shown = _labels_shown(report)
    cells = [(i, j) for i, j, _ in mixed if i in shown and j in shown]
    right = [(i, i) for i in shown if report.confusion[i, i] and not report.several_labels]
    meaning = "A row is a label, a column what the model predicted; the blue diagonal is right."
    if report.several_labels:
        meaning = (
            "In how many documents the label of the row is missed while that of the column is "
            "wrongly given."
        )
    yield Sentence(
        f"{meaning} The stronger the orange, the larger the share of the row. Each number "
        "leads to its documents.",
        "han-small",
    )
    if len(shown) - report.several_labels < n:
        n_wrong = sum(count for *_, count in mixed)
        n_shown = sum(int(report.confusion[cell]) for cell in cells)
        told = f": {n_shown:,} of {n_wrong:,} mistakes are between two of them"
        which = f"the {MATRIX_LABELS} labels with the most mistakes, of {n:,}"
        if not n_wrong:
            told, which = "", f"{MATRIX_LABELS} of {n:,} labels"
        yield Sentence(f"These are {which}{told}.")
    yield confusion_matrix(report, [*cells, *right])
    yield Heading("The documents behind the numbers", 3)
    limit = min(bounds.in_a_list, max(1, bounds.documents // max(1, len(cells) + len(right))))
    lists = [_cell(report, cell, kinds[cell], limit, bounds) for cell in cells]
    yield from lists[:KINDS_OPEN]
    if lists[KINDS_OPEN:]:
        title = f"{counted(len(lists) - KINDS_OPEN, 'more kind')} of mistakes"
        yield Fold(title, lists[KINDS_OPEN:], kind="han-document")
    if right:
        found = [
            _cell(report, (i, i), [written[i], " predicted right"], limit, bounds) for i, _ in right
        ]
        yield Fold("Documents predicted right", found, kind="han-document")


def _cell(report: Reported, cell: tuple[int, int], kind: Text, limit: int, bounds: Bounds) -> Fold:
    """Return the documents of a cell of the matrix, of the right ones the least sure first."""
    rows = report.rows(*cell)[:: -1 if cell[0] == cell[1] else 1]
    blocks = _judged(report, rows[:limit].tolist(), bounds)
    order = "" if len(rows) == 1 else ", the surest first"
    if cell[0] == cell[1] and order:
        order = ", the least sure first"
    title = [*parts_of(kind), " ", Span(f"{counted(len(rows))}{order}", "small")]
    blocks += more(len(rows) - limit, "document")
    return Fold(title, blocks, kind="han-document", id=_place(report, f"{cell[0]}-{cell[1]}"))


def _charts(report: Reported) -> list[Block]:
    charts = [*_reliability_chart(report), *_length_chart(report), *_history_charts(report)]
    return [Columns(charts)] if charts else []


def _reliability_chart(report: Reported) -> Iterator[Chart]:
    bins = report.reliability
    if not bins:
        return
    most = max(b.n_documents for b in bins)
    columns = []
    for b in bins:
        place = min(BINS - 1, max(0, math.ceil(b.confidence * BINS - 1e-9) - 1)) / BINS
        height = 0.25 * b.n_documents / most
        columns.append((place, place + 1 / BINS, height, counted(b.n_documents)))

    def curve(name: str, bins: Sequence[Bin], color: str, hollow: bool) -> Curve:
        titles = [
            f"{counted(b.n_documents)} predicted with {percent(b.confidence, 1)}: "
            f"{percent(b.accuracy, 1)} right"
            for b in bins
        ]
        ends = [] if hollow else [(b.low, b.high) for b in bins]
        return Curve(name, [(b.confidence, b.accuracy) for b in bins], color, titles, ends, hollow)

    curves = [Curve("", [(0, 0), (1, 1)], "muted")]
    if report.baseline_reliability:
        curves.append(curve(BASELINES[False], report.baseline_reliability, "against", True))
    yield Chart(
        "Share of right predictions by the probability of the predicted label",
        Axis("probability of the predicted label", 0, 1, _SHARES),
        Axis("right", 0, 1, _SHARES),
        [*curves, curve("the model", bins, "toward", False)],
        "On the dashed line a probability is what it says: of the documents predicted with "
        "80 %, 80 % are right. Below the line the model is too sure, above it not sure "
        "enough. Upright lines: 95 % intervals, long where documents are few. Grey bars: how "
        "many documents.",
        columns,
    )


def _length_chart(report: Reported) -> Iterator[Chart]:
    bins = report.by_length
    if not bins:
        return
    lengths = [
        f"{b.fewest_words:,}" + f"\N{EN DASH}{b.most_words:,}" * (b.most_words > b.fewest_words)
        for b in bins
    ]
    titles = [
        f"{counted(b.n_documents)} of {name} words: {percent(b.accuracy, 1)} right"
        for name, b in zip(lengths, bins, strict=True)
    ]
    dots = [(float(i), b.accuracy) for i, b in enumerate(bins)]
    ends = [(b.low, b.high) for b in bins]
    each = sorted({b.n_documents for b in bins})
    n = f"{each[0]:,}" if len(each) == 1 else f"{each[0]:,} to {each[-1]:,}"
    yield Chart(
        "Share of right predictions by length",
        Axis("words of a document", -0.5, len(bins) - 0.5, list(enumerate(lengths))),
        Axis("right", 0, 1, _SHARES),
        [Curve("", dots, "toward", titles, ends, line=False)],
        f"Each point is {n} document{'' if each == [1] else 's'} of similar length; its line "
        "is the 95 % interval. Where the lines of two points overlap much, their difference "
        "may be chance.",
    )


def _history_charts(report: Reported) -> Iterator[Chart]:
    """Yield losses and, where there are any, scores by epoch."""
    keys = {name for epoch in report.history for name in epoch if name.startswith("valid_")}
    colors = cycle(("against", "toward", "muted"))
    losses = [("train_loss", "toward", True), ("valid_loss", "against", False)]
    scores = [(key, next(colors), i > 0) for i, key in enumerate(sorted(keys - {"valid_loss"}))]
    for label, curves_of in (("loss", losses), ("score", scores)):
        curves = []
        for key, color, hollow in curves_of:
            part, _, what = key.partition("_")
            name = f"{'training' if part == 'train' else 'validation'} {what.replace('_', ' ')}"
            dots = [
                (float(epoch.get("epoch", i)), float(epoch[key]))
                for i, epoch in enumerate(report.history, start=1)
                if epoch.get(key) is not None and math.isfinite(epoch[key])
            ]
            titles = [f"{name}, epoch {epoch:g}: {value:.4f}" for epoch, value in dots]
            if dots:
                curves.append(Curve(name, dots, color, titles, hollow=hollow))
        if not curves:
            continue
        epochs, values = zip(*(dot for curve in curves for dot in curve.points), strict=True)
        low, high = min(values), max(values)
        room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        low, high = max(0.0, low - room) if low >= 0 else low - room, high + room
        first, last = min(epochs), max(epochs)
        of_labels = " Losses are sums over the labels." if report.several_labels else ""
        yield Chart(
            f"{label} by epoch of training",
            Axis("epoch", first, last, ticks(first, last, whole=True)),
            Axis(label, low, high, ticks(low, high)),
            curves,
            f"{counted(len(report.history), 'epoch')} of the network alone, without the linear "
            f"models that are fitted too.{of_labels} A validation loss that rises while the "
            "training loss falls means that the network memorizes its documents.",
        )


def _mistakes(report: Reported, in_terminal: bool, bounds: Bounds) -> Iterator[Block]:
    """Yield the worst mistakes, each with the sentence that misled."""
    rows = report.mistake_rows[: bounds.mistakes].tolist()
    if not rows:
        if not in_terminal:
            yield Sentence("No document is predicted wrong, of those whose labels the model knows.")
        return
    if not in_terminal:
        yield Sentence(
            "The documents in which the probability of a label is most wrong."
            if report.several_labels
            else "The mistakes that the model was surest of."
        )
        yield from legend(list(report.mistakes), "contributions")
    if not len(report.mistakes):
        yield from _judged(report, rows, bounds)
    for place, (row, explanation) in enumerate(zip(rows, report.mistakes, strict=False)):
        title = [f"Document {row:,}: ", *_verdict(report, row, place)]
        yield Heading(title, 4, _place(report, f"doc-{row}"))
        yield _misled(report, place)
        if in_terminal:
            continue
        if not report.several_labels and row in report.suspects:
            link = Span("looks wrong", "link", link=_place(report, "labels"))
            yield Sentence(["Its label ", link, " too."], "han-small")
        text = document_blocks([explanation], "contributions", report.marked(row))
        yield Fold("The whole document, word by word", text, not place, "han-small")
    n_more = int((~report.right).sum()) - len(rows)
    yield from more(n_more, "document" if report.several_labels else "mistake")


def _verdict(report: Reported, row: int, place: int | None = None) -> list[Any]:
    """Return what is predicted for a document and its label; of a mistake what is most wrong."""
    answer, marked = (named(each(row)) for each in (report.answer, report.marked))
    sure = "" if report.several_labels else f" ({percent(float(report.confidence[row]))})"
    said = ["predicted ", *answer, sure, ", labelled ", *marked]
    if place is None or report.mistake_labels is None:
        return said
    label = int(report.mistake_labels[place])
    kind = "missed" if report.targets[row, label] else "wrongly given"
    p = percent(float(report.probabilities[row, label]))
    return [Span(report.labels[label]), f" {kind} ({p}); ", *said]


def _misled(report: Reported, place: int) -> Sentence:
    """Return the sentence that misled, for a label wrongly given or against one missed."""
    explanation, sign = report.mistakes[place], 1
    if report.mistake_labels is not None:
        missed = report.targets[report.mistake_rows[place], report.mistake_labels[place]]
        sign = -1 if missed else 1
    values = explanation.sentence_contributions
    if not len(values) or (sign * values).max() <= 0:
        side = "for" if sign > 0 else "against"
        said = [f"No sentence speaks {side} ", *comparison(explanation)]
        return Sentence([*said, ": the model had little to go by."], "han-small")
    best = int((sign * values).argmax())
    text = " ".join(explanation.sentences[best].split())[:LONGEST_SENTENCE]
    value = with_minus(number(float(values[best]), True))
    quoted = Span(f"\N{LEFT DOUBLE QUOTATION MARK}{text}\N{RIGHT DOUBLE QUOTATION MARK}")
    return Sentence(["misled by ", quoted, f" ({value})"], "han-misled")


def _suspects(report: Reported, in_terminal: bool, bounds: Bounds) -> Iterator[Block]:
    """Yield the documents whose label, or one of whose labels, may be wrong."""
    if not in_terminal:
        yield Sentence(SUSPECTED[report.several_labels], "han-small")
    n, shown = len(report.suspects), report.suspects[: bounds.in_a_list].tolist()
    if not n:
        yield Sentence("None was found.")
        return
    what = "label" if report.several_labels else "document"
    yield Sentence(f"{counted(n, what)}, the most suspicious first.")
    if not report.several_labels:
        yield from _judged(report, shown, bounds)
    else:
        for row, label in shown:
            has = "marked " if report.targets[row, label] else "not marked "
            p = percent(float(report.probabilities[row, label]))
            said = [has, Span(report.labels[label], "strong"), f", probability {p}"]
            yield _entry(report, row, said, bounds)
    yield from more(n - len(shown), what)


def _duplicates(report: Reported, in_terminal: bool, bounds: Bounds) -> Iterator[Block]:
    """Yield documents with the same words, those with different labels first."""
    if report.trained_on is not None and len(report.trained_on) and not in_terminal:
        n = len(report.trained_on)
        yield Sentence(
            f"{counted(n)} {agreeing(n, 'have')} {OF_TRAINING}: the model may have memorized "
            "them, and scores are too good."
        )
        rows = report.trained_on[: bounds.in_a_list].tolist()
        yield from _judged(report, rows, bounds)
        yield from more(n - len(rows), "document")
    groups = sorted(report.duplicates, key=lambda group: not report.has_conflict(group))
    if not groups:
        if report.texts is not None and not in_terminal:
            yield Sentence("No two documents have the same words, apart from case and punctuation.")
        return
    n_conflicts = sum(map(report.has_conflict, groups))
    labels = f"{n_conflicts} with different labels" if n_conflicts else "each with one label"
    n_groups, documents = counted(len(groups), "group"), counted(sum(map(len, groups)))
    yield Sentence(f"{documents} in {n_groups} of the same words, {labels}.")
    if in_terminal:
        return
    yield Sentence(
        "Case and punctuation do not count. Different labels of one text cannot both be learnt.",
        "han-small",
    )
    for group in groups[: bounds.in_a_list]:
        marked = list(dict.fromkeys(report.marked(row) for row in group))
        parts = [part for label in marked for part in ("; ", *named(label))][1:]
        mark = [Span("different labels", "verdict"), " "] * report.has_conflict(group)
        found = _judged(report, group[: bounds.in_a_list], bounds)
        found += more(len(group) - bounds.in_a_list, "document")
        title = [f"{counted(len(group))}: ", *mark, *parts]
        yield Fold(title, found, kind="han-document")
    yield from more(len(groups) - bounds.in_a_list, "group")


def _judged(report: Reported, rows: Iterable[int], bounds: Bounds) -> list[Block]:
    """Return documents with their label and what the model predicts."""
    return [_entry(report, row, _verdict(report, row), bounds) for row in rows]


def _entry(report: Reported, row: int, said: list[Any], bounds: Bounds) -> Block:
    """Return a document that opens, with a link to where it is explained."""
    if (
        bounds.documents
        and row in report.mistake_rows[: min(len(report.mistakes), bounds.mistakes)]
    ):
        said = [*said, " ", Span("explained", "link", link=_place(report, f"doc-{row}"))]
    text = None if report.texts is None else report.texts[row]
    return entry([f"Document {row:,}: ", *said], text, longest=bounds.characters)


def _with_interval(found: Mapping[str, float], key: str) -> Text:
    """Return a score and its 95 % interval; a dash where there is none."""
    if key not in found:
        return ""
    if f"{key}_low" not in found:
        return decimal(found[key])
    ends = [found[f"{key}_{end}"] for end in ("low", "high")]
    interval = "[\N{EN DASH}]" if math.isnan(ends[0]) else f"[{ends[0]:.3f}, {ends[1]:.3f}]"
    return [Span(decimal(found[key]), "strong"), " ", Span(interval, "small")]
