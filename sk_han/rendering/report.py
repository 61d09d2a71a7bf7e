"""A report as blocks: scores, confusion, calibration, accuracy by length, worst mistakes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from sk_han.rendering.blocks import (
    Bar,
    Block,
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
    percent,
    points,
    with_minus,
)
from sk_han.rendering.shading import comparison, document_blocks, legend, named
from sk_han.utils.messages import agreeing, counted

Reported: TypeAlias = Any  # a Report, whose class is above this module
MATRIX_LABELS = 25
LABELS_OPEN, LABELS_SHOWN = 12, 100
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
MISTAKES = {"page": 100, "notebook": 5, "terminal": 5}  # those shown
LONGEST = {"page": 1500, "notebook": 400, "terminal": 400}  # characters of one without explanation
LINES = 4  # kinds of mistakes in a terminal, and half the number of labels


def report_blocks(report: Reported, extent: str) -> Iterator[Block]:
    """Yield what is shown of a report on a page, in a notebook, or in short in a terminal."""
    in_terminal = extent == "terminal"
    on = f"{counted(report.n_documents)} of {counted(len(report.labels), 'label')}"
    yield Heading(f"Where {report.estimator} fails: {on}", 1)
    yield Sentence(_trained_note(report))
    notes = [*report.notes, *_duplicates_note(report)]
    yield from (Sentence(note, "han-note") for note in notes)
    said = [_gain_note(report), "" if report.several_labels else _sureness_note(report)]
    if any(said):
        yield Sentence(" ".join(filter(None, said)), "han-lead")
    confusion = "Confusion matrix"
    if report.several_labels:
        confusion = "What is missed, and what is given instead"
    sections = {
        "Scores": [*_score_blocks(report, in_terminal), *_labels_table(report, extent)],
        confusion: list(_confusion_blocks(report, in_terminal)),
        "Calibration and length": [] if in_terminal else list(_accuracy_tables(report)),
        "The worst mistakes": list(_mistakes(report, extent)),
    }
    for title, blocks in sections.items():
        if blocks:
            yield Heading(title)
            yield from blocks
    if in_terminal:
        yield Sentence("The whole report: report.to_html('report.html')")


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


def _duplicates_note(report: Reported) -> Iterator[str]:
    """Say how many documents have the same words as another one."""
    groups = report.duplicates
    if groups:
        n_conflicts = sum(map(report.has_conflict, groups))
        labels = f"{n_conflicts} with different labels" if n_conflicts else "each with one label"
        documents = counted(sum(map(len, groups)))
        yield f"{documents} in {counted(len(groups), 'group')} of the same words, {labels}."


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
    shown = found[: 2 * LINES if in_terminal else LABELS_SHOWN]
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


def confusion_matrix(report: Reported) -> Matrix:
    """Return the confusion matrix of the labels with the most mistakes."""
    several, n, shown = report.several_labels, len(report.labels), _labels_shown(report)
    columns = [j for j in shown if several or j < report.n_classes]
    counts = report.confusion[np.ix_(shown, columns)]
    of_label = np.maximum(report.confusion.sum(axis=1)[shown], 1)[:, None]
    ends = ("none missed", "none given") if several else ("", "")
    rows, heads = (
        [report.labels[i] if i < n else end for i in labels]
        for labels, end in zip((shown, columns), ends, strict=True)
    )
    return Matrix(rows, heads, counts / of_label, report.axes, counts, not several)


def _confusion_blocks(report: Reported, in_terminal: bool) -> Iterator[Block]:
    """Yield the matrix or, in a terminal, the most frequent mistakes."""
    mixed, n = report.mixed_up(), len(report.labels)
    if not mixed:
        yield Sentence("Nothing is predicted wrong.")
    if in_terminal:
        written = [*names(report.labels), "nothing"]
        first, joint = ("missed ", ", wrongly given ")
        if not report.several_labels:
            first, joint = "", " taken for "
        for i, j, count in mixed[:LINES]:
            yield Sentence([f"{count:>5,}  {first}", written[i], joint, written[j]])
        return
    meaning = "A row is a label, a column what the model predicted; the blue diagonal is right."
    if report.several_labels:
        meaning = (
            "In how many documents the label of the row is missed while that of the column is "
            "wrongly given."
        )
    yield Sentence(
        f"{meaning} The stronger the orange, the larger the share of the row.", "han-small"
    )
    shown = _labels_shown(report)
    if len(shown) - report.several_labels < n:
        n_wrong = sum(count for *_, count in mixed)
        n_shown = sum(count for i, j, count in mixed if i in shown and j in shown)
        told = f": {n_shown:,} of {n_wrong:,} mistakes are between two of them"
        which = f"the {MATRIX_LABELS} labels with the most mistakes, of {n:,}"
        if not n_wrong:
            told, which = "", f"{MATRIX_LABELS} of {n:,} labels"
        yield Sentence(f"These are {which}{told}.")
    yield confusion_matrix(report)


def _accuracy_tables(report: Reported) -> Iterator[Block]:
    """Yield the shares of right predictions by their probability, and by length."""
    tables = [
        (
            "A tick is the mean probability of the predicted label, the bar the share that is "
            "right, with its 95 % interval. A bar that ends before its tick: the model is too "
            "sure. One that ends after it: it is not sure enough.",
            "probability",
            [(percent(b.confidence, 1), b, b.confidence) for b in report.reliability],
        ),
        (
            "Documents of similar length. Where two intervals overlap much, their difference may "
            "be chance.",
            "words",
            [
                (
                    f"{b.fewest_words:,}"
                    + f"\N{EN DASH}{b.most_words:,}" * (b.most_words > b.fewest_words),
                    b,
                    None,
                )
                for b in report.by_length
            ],
        ),
    ]
    for meaning, name, found in tables:
        if found:
            rows: list[list[Text]] = [
                [
                    of_bin,
                    Bar(b.accuracy, "toward", tick),
                    _interval(b.accuracy, b.low, b.high),
                    f"{b.n_documents:,}",
                ]
                for of_bin, b, tick in found
            ]
            yield Table(rows, [name, "", "right", "documents"], "classes")
            yield Sentence(meaning, "han-small")


def _mistakes(report: Reported, extent: str) -> Iterator[Block]:
    """Yield the worst mistakes, each with the sentence that misled."""
    in_terminal = extent == "terminal"
    rows = report.mistake_rows[: MISTAKES[extent]].tolist()
    if not rows and not in_terminal:
        yield Sentence("No document is predicted wrong, of those whose labels the model knows.")
    if rows and not in_terminal:
        yield Sentence(
            "The documents in which the probability of a label is most wrong."
            if report.several_labels
            else "The mistakes that the model was surest of."
        )
        yield from legend(list(report.mistakes), "contributions")
    for place, row in enumerate(rows):
        title = [f"Document {row:,}: ", *_verdict(report, row, place)]
        if not len(report.mistakes):
            text = None if report.texts is None else report.texts[row]
            yield entry(title, text, longest=LONGEST[extent])
            continue
        yield Heading(title, 4)
        yield _misled(report, place)
        if in_terminal:
            continue
        if not report.several_labels and row in report.suspects:
            yield Sentence("Its label looks wrong too.", "han-small")
        shown = document_blocks([report.mistakes[place]], "contributions", report.marked(row))
        yield Fold("The whole document, word by word", shown, not place, "han-small")
    if rows:
        n_more = int((~report.right).sum()) - len(rows)
        yield from more(n_more, "document" if report.several_labels else "mistake")
    if n := len(report.suspects):
        what = counted(n, "mark" if report.several_labels else "label")
        yield Sentence(
            f"{what} {agreeing(n, 'look')} wrong, by the estimate of audit_labels: see "
            "report.suspects and looks_mislabelled in report.to_frame(). It cannot distinguish a "
            "wrong label from a mistake of the model: a person has to look.",
            "han-small",
        )


def _verdict(report: Reported, row: int, place: int) -> list[Any]:
    """Return what is predicted for a mistake and its label, and which label is most wrong."""
    answer, marked = (named(each(row)) for each in (report.answer, report.marked))
    sure = "" if report.several_labels else f" ({percent(float(report.confidence[row]))})"
    said = ["predicted ", *answer, sure, ", labelled ", *marked]
    if report.mistake_labels is None:
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


def _with_interval(found: Mapping[str, float], key: str) -> Text:
    """Return a score and its 95 % interval; a dash where there is none."""
    if key not in found:
        return ""
    if f"{key}_low" not in found:
        return decimal(found[key])
    return _interval(found[key], found[f"{key}_low"], found[f"{key}_high"])


def _interval(value: float, low: float, high: float) -> Text:
    interval = "[\N{EN DASH}]" if math.isnan(low) else f"[{low:.3f}, {high:.3f}]"
    return [Span(decimal(value), "strong"), " ", Span(interval, "small")]
