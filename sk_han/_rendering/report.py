"""Blocks of a report: scores, confusion matrix, calibration, accuracy by length, mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sk_han._rendering.blocks import (
    Bar,
    Block,
    Fold,
    Heading,
    Matrix,
    Sentence,
    Span,
    Table,
    Text,
    amount,
    decimal,
    entry,
    more,
    names,
    percent,
    points,
    with_minus,
)
from sk_han._rendering.shading import comparison, document_blocks, label_spans, legend, make_shading
from sk_han._utils.containers import document_name
from sk_han._utils.messages import agreeing, plural

# A `Report`, whose class imports this module.
Reported: TypeAlias = Any
# Labels of the matrix, and of the table of labels: those up to which it is open, and all rows.
MATRIX_LABELS = 25
LABELS_OPEN, LABELS_SHOWN = 12, 100
# Scores in the order of their rows, with their meaning; further scores of a page follow them.
MEANINGS = {
    "accuracy": "the share of documents whose label is predicted right, with its 95 % confidence "
    "interval over {units}.",
    "mean_absolute_error": "the mean distance between what is predicted and what is true: of the "
    "numbers or, if ordered classes are not numbers, in steps from class to class.",
    "root_mean_squared_error": "the root of the mean squared distance, to which large errors "
    "contribute most. Its interval is too narrow if a few errors are very large.",
    "r2": "the share of the variance of the true numbers that is explained: 1 is perfect, 0 is "
    "their mean for all documents.",
    **{
        f"coverage_{share}": f"the share of true numbers in the intervals of {share} %."
        for share in (50, 80, 90)
    },
    "within_one_step": "the share of documents whose predicted class is the true one, or next to "
    "it.",
    "quadratic_kappa": "1 less the mean squared distance in steps, relative to that of predictions "
    "that are drawn without reading (Cohen, 1968). 1 is perfect, and 0 is chance.",
    "micro_f1": "F1 of all labels of all documents together, so frequent labels count most. In "
    "brackets is the 95 % confidence interval over {units}, or a dash if it cannot be estimated. "
    "Intervals of macro averages are too narrow if labels have fewer than five documents.",
    "macro_f1": "the mean F1 over labels, so a rare label counts as much as a frequent one. 1 is "
    "perfect.",
    "samples_f1": "the mean F1 over documents.",
    "subset_accuracy": "the share of documents all of whose labels are predicted right.",
    "mean_average_precision": "the mean average precision of the labels that occur.",
    "log_loss": "the negative log-likelihood of the true labels: 0 is perfect, 0.69 is a coin toss "
    "between two labels. Confident mistakes cost most. With several labels per document, the mean "
    "over labels.",
    "calibration_error": "the mean distance between the predicted probability and the share of "
    "right predictions, over 15 bins (Guo et al., 2017). 0 is perfect, but even a perfect model "
    "has about 0.15 on 30 documents and 0.04 on 500. With several labels per document, over ten "
    "bins of all probabilities above 0.05.",
    "precision": "of the documents predicted to have a label, the share that have it.",
    "recall": "of the documents that have a label, the share predicted to have it.",
    "average_precision": "the area under the curve of precision by recall, of one label.",
}
# Mistakes that are shown, and characters of the text of a mistake without explanation.
MISTAKES = {"page": 100, "notebook": 5, "terminal": 5}
LONGEST = {"page": 1500, "notebook": 400, "terminal": 400}
# Kinds of mistakes in a terminal, where twice as many labels are shown.
LINES = 4


def report_blocks(report: Reported, extent: str) -> Iterator[Block]:
    """Yield the blocks of a page or notebook, or the short form for a terminal."""
    in_terminal = extent == "terminal"
    on = f"{plural(report.n_documents)}, {plural(len(report.labels), 'label')}"
    lead = [_gain_note(report), "" if report.several_labels else _confidence_note(report)]
    confusion = "Missed and wrong labels" if report.several_labels else "Confusion matrix"
    sections = {
        "Scores": [*_score_blocks(report, in_terminal), *_labels_table(report, extent)],
        confusion: list(_confusion_blocks(report, in_terminal)),
        "Calibration and length": [] if in_terminal else list(_accuracy_tables(report)),
        "Where the model fails": list(_slice_blocks(report, extent)),
        "Most confident mistakes": list(_mistakes(report, extent)),
    }
    yield from _frame_blocks(report, in_terminal, on, lead, sections)


def number_report_blocks(report: Reported, extent: str) -> Iterator[Block]:
    """Yield the blocks of a report on numbers, as `report_blocks` does."""
    in_terminal, rows = extent == "terminal", report.mistake_rows
    errors = report.predicted - report.targets
    titles = [_prediction(report, row) for row in rows.tolist()]
    sections: dict[str, list[Block]] = {"Scores": [*_score_blocks(report, in_terminal)]}
    if not in_terminal:
        sections["True and predicted numbers"] = [
            Sentence("Rows are ranges of true numbers, columns of predicted ones.", "han-small"),
            report.matrix,
        ]
        sections["Where errors are large"] = [*_error_tables(report)]
    sections["Where the model fails"] = [*_slice_blocks(report, extent)]
    sections["Largest errors"] = [
        *_explained_mistakes(report, extent, titles, np.sign(errors[rows]))
    ]
    yield from _frame_blocks(
        report, in_terminal, plural(report.n_documents), [_gain_note(report)], sections
    )


def _slice_blocks(report: Reported, extent: str) -> Iterator[Block]:
    """Yield the slices that have more mistakes than the other documents, with examples."""
    in_terminal, is_number = extent == "terminal", report.what == "number"
    wrong = "far off" if is_number else "wrong"
    if not report.slices:
        if report.n_slices and not in_terminal:
            yield Sentence(
                f"None of the {report.n_slices:,} slices tested (words, lengths, ...) has "
                f"significantly more documents that are {wrong} than the rest."
            )
        return
    shown = report.slices[: LINES if in_terminal else None]
    rows: list[list[Text]] = []
    for one in shown:
        name: list[Any] = [f"{one.kind} ", *names([one.name]), " words" * (one.kind == "length")]
        name += [Span(f" (also {', '.join(one.also)})", "small")] * bool(one.also)
        rate = _interval(one.error, one.low, one.high)
        rows.append([name, Bar(one.error, "against"), rate, f"{one.n_documents:,}"])
    yield Table(rows, ["slice", "", wrong, "documents"], "classes")
    yield from more(len(report.slices) - len(shown), "slice")
    if in_terminal:
        return
    explained = (
        f"Significantly more of these documents are {wrong} than of the others: Fisher's exact "
        f"test, corrected for the {report.n_slices:,} slices tested. Slices with the most "
        "additional mistakes come first; those of nearly the same documents are one row."
    )
    if is_number:
        limit = amount(np.quantile(np.abs(report.predicted - report.targets), 0.75))
        explained += f" Far off is the quarter with the largest errors, above {limit}."
    yield Sentence(explained, "han-small")
    examples: list[Block] = []
    for one in shown:
        examples.append(Sentence([f"{one.kind} ", Span(one.name)]))
        for row in one.examples:
            head = [f"Document {document_name(row, report.ids)}: ", *_prediction(report, row)]
            examples.append(entry(head, None if report.texts is None else report.texts[row]))
    yield Fold("Examples: the worst mistakes of each slice", examples)


def _prediction(report: Reported, row: int) -> list[Any]:
    """Return what is predicted for a document, and what is true."""
    if report.what == "number":
        numbers = amount(report.predicted[row]), amount(report.true_label(row))
        return ["predicted ", Span(numbers[0]), ", true ", Span(numbers[1])]
    answer, marked = label_spans(report.answer(row)), label_spans(report.true_label(row))
    return ["predicted ", *answer, ", labelled ", *marked]


def _error_tables(report: Reported) -> Iterator[Block]:
    """Yield errors by true number and by length."""
    head = ["", "mean absolute error", "mean error", "documents"]
    for name, bins in (("true number", report.by_number), ("words", report.by_length)):
        largest = max((part.mean_absolute_error for part in bins), default=0) or 1
        rows: list[list[Text]] = [
            [
                amount(part.lowest) + f" to {amount(part.highest)}" * (part.highest > part.lowest),
                Bar(part.mean_absolute_error / largest, "against"),
                amount(part.mean_absolute_error),
                with_minus(f"{'+' * (part.mean_error > 0)}{amount(part.mean_error)}"),
                f"{part.n_documents:,}",
            ]
            for part in bins
        ]
        if rows:
            yield Table(rows, [name, *head], "classes")
    yield Sentence(
        "The mean error is above 0 where numbers are predicted too high. Predictions vary less "
        "than true numbers, so the lowest are often predicted too high, and the highest too low.",
        "han-small",
    )


def _frame_blocks(
    report: Reported, in_terminal: bool, on: str, lead: list[str], sections: dict[str, list[Block]]
) -> Iterator[Block]:
    """Yield heading and notes, the `lead`, and the sections that are not empty."""
    yield Heading(f"Evaluation of {report.estimator}: {on}", 1)
    yield Sentence(_trained_note(report))
    notes = [*report.notes, *_duplicates_note(report)]
    yield from (Sentence(note, "han-note") for note in notes)
    if any(lead):
        yield Sentence(" ".join(filter(None, lead)), "han-lead")
    for title, blocks in sections.items():
        if blocks:
            yield Heading(title)
            yield from blocks
    if in_terminal:
        yield Sentence("Full report: report.to_html('report.html')")


def _trained_note(report: Reported) -> str:
    """Return a sentence on how many of the documents are known to be training documents."""
    if report.trained_on is None:
        return (
            "It is not known whether the model was fitted to these documents. If it was, its "
            "scores are too high; pass the training documents to find out."
        )
    n = len(report.trained_on)
    if n:
        # Words that the vocabulary lacks or a limit cuts off cannot be compared.
        copies = (
            f"{plural(n)} {agreeing(n, 'have')} the same or nearly the same words as a training"
        )
        return f"{copies} document, as far as the model reads them, so the scores may be too high."
    return "No document is known to have the same words as a training document."


def _duplicates_note(report: Reported) -> Iterator[str]:
    """Yield a sentence on duplicates among the documents, if there are any."""
    groups = report.duplicates
    if groups:
        n_conflicts = sum(map(report.has_conflict, groups))
        labels = f"{n_conflicts} with different {report.what}s"
        labels = labels if n_conflicts else f"each with one {report.what}"
        documents = plural(sum(map(len, groups)))
        yield f"{documents} form {plural(len(groups), 'group')} with the same words, {labels}."


def _gain_note(report: Reported) -> str:
    """Return a sentence that compares the model with the baseline."""
    if report.gain is None:
        return ""
    gain, low, high = report.gain
    interval = f" (95 % interval: {points(low)} to {points(high)} points)" if low < high else ""
    note = f"{report.measure} equals the baseline's"
    if gain:
        size, compared = points(abs(gain)).removeprefix("+"), "higher" if gain > 0 else "lower"
        note = f"{report.measure} is {size} points {compared} than the baseline's"
    if not (low > 0 or high < 0 or low == high):
        return f"{note}{interval}, which may be chance."
    return f"{note}{interval}{': here the baseline is better' * (gain < 0)}."


def _confidence_note(report: Reported) -> str:
    """Return a sentence that compares mean confidence with accuracy."""
    confidence, accuracy = float(report.confidence.mean()), float(report.right.mean())
    scores = report.scores["model"]
    verdict = "overconfident" if confidence > accuracy else "underconfident"
    if scores["accuracy_low"] <= confidence <= scores["accuracy_high"]:
        verdict = "neither overconfident nor underconfident, as far as these documents show"
    return (
        f"The predicted labels have a mean probability of {percent(confidence, 1)}, and "
        f"{percent(accuracy, 1)} of them are right: the model is {verdict}."
    )


def _score_blocks(report: Reported, in_terminal: bool) -> Iterator[Block]:
    """Yield a table with a column for the model, the baseline and the most frequent label."""
    heads: dict[str, Text] = {
        "model": "model",
        "baseline": f"baseline: {report.baseline_name}",
        "commonest": ["always ", names([report.commonest_label])[0]],
    }
    in_unit = ("mean_absolute_error", "root_mean_squared_error") * (report.what == "number")
    shown = [key for key in MEANINGS if key in report.scores["model"]]
    if not in_terminal:
        further = (key for key in report.scores["model"] if key.endswith(("_precision", "_recall")))
        shown = [*dict.fromkeys([*shown, *further])]
    rows = [
        [
            _measure(key),
            *(
                _with_interval(scores, key, amount if key in in_unit else decimal)
                for scores in report.scores.values()
            ),
        ]
        for key in shown
    ]
    yield Table(rows, ["", *(heads[key] for key in report.scores)], "scores")
    yield Sentence(report.baseline_note, "han-small")
    if in_terminal:
        return
    units = "documents" if report.groups is None else "groups of documents"
    present = {*shown, *("precision", "recall", "average_precision") * (report.what == "label")}
    yield Fold(
        "What these numbers mean",
        [
            Sentence([Span(_measure(key), "strong"), f": {text.format(units=units)}"], "han-small")
            for key, text in MEANINGS.items()
            if key in present
        ],
    )


def _measure(key: str) -> str:
    return key.replace("_", " ").replace("f1", "F1").replace("r2", "R2")


def _labels_table(report: Reported, extent: str) -> Iterator[Block]:
    """Yield a table of the scores by label, sorted by F1; labels without F1 come last."""
    in_terminal = extent == "terminal"
    ranked = sorted(report.class_scores, key=lambda label: 2.0 if label.f1 is None else label.f1)
    shown = ranked[: 2 * LINES if in_terminal else LABELS_SHOWN]
    head = ["label (worst first)", "documents", "precision", "recall", "F1", "average precision"]
    head += ["threshold"] * (report.thresholds is not None)
    rows = [
        [name, f"{scores.n_documents:,}", *map(decimal, scores[3 : 1 + len(head)])]
        for name, scores in zip(names(scores.label for scores in shown), shown, strict=True)
    ]
    blocks = [Table(rows, head), *more(len(ranked) - len(shown), "label")]
    if in_terminal:
        yield Heading("Scores by label")
        yield from blocks
    else:
        yield Fold("Scores by label", blocks, len(ranked) <= LABELS_OPEN)


def _labels_shown(report: Reported) -> list[int]:
    """Return the positions of the labels with the most mistakes; with several labels, also none."""
    last = [len(report.labels)] * report.several_labels
    counts = report.confusion[: len(report.labels), : len(report.labels)]
    wrong = report.confusion - np.diag(np.diag(report.confusion))
    n_wrong = (wrong.sum(axis=0) + wrong.sum(axis=1))[: len(counts)]
    n_documents = counts.sum(axis=0) + counts.sum(axis=1)
    ranked = np.lexsort((-n_documents, -n_wrong))[:MATRIX_LABELS]
    occurring = (n_wrong[ranked] > 0) | (n_documents[ranked] > 0) | (ranked < report.n_classes)
    return [*sorted(ranked[occurring].tolist()), *last]


def confusion_matrix(report: Reported) -> Matrix:
    """Return the confusion matrix of the labels with the most mistakes."""
    several, n, shown = report.several_labels, len(report.labels), _labels_shown(report)
    columns = [j for j in shown if several or j < report.n_classes]
    counts = report.confusion[np.ix_(shown, columns)]
    of_label = np.maximum(report.confusion.sum(axis=1)[shown], 1)[:, None]
    ends = ("none missed", "none wrong") if several else ("", "")
    rows, heads = (
        [report.labels[i] if i < n else end for i in labels]
        for labels, end in zip((shown, columns), ends, strict=True)
    )
    return Matrix(rows, heads, counts / of_label, report.axes, counts, not several)


def _confusion_blocks(report: Reported, in_terminal: bool) -> Iterator[Block]:
    """Yield the confusion matrix or, in a terminal, the most frequent mistakes."""
    mixed, n = report.mixed_up(), len(report.labels)
    if not mixed:
        yield Sentence("There are no mistakes.")
    if in_terminal:
        label_names = [*names(report.labels), "none"]
        first, joint = ("missed: ", ", wrongly predicted: ")
        if not report.several_labels:
            first, joint = "", " predicted as "
        for i, j, count in mixed[:LINES]:
            yield Sentence([f"{count:>5,}  {first}", label_names[i], joint, label_names[j]])
        return
    meaning = "Rows are true labels, columns predicted labels; the blue diagonal is right."
    if report.several_labels:
        meaning = (
            "Number of documents in which the label of the row is missed while the label of the "
            "column is wrongly predicted."
        )
    yield Sentence(f"{meaning} Shades show shares of the row.", "han-small")
    shown = _labels_shown(report)
    if len(shown) - report.several_labels < n:
        n_wrong = sum(count for *_, count in mixed)
        n_shown = sum(count for i, j, count in mixed if i in shown and j in shown)
        shares = f"; {n_shown:,} of {n_wrong:,} mistakes are between two of them"
        which = f"the {MATRIX_LABELS} labels with the most mistakes, of {n:,}"
        if not n_wrong:
            shares, which = "", f"{MATRIX_LABELS} of {n:,} labels"
        yield Sentence(f"The matrix shows {which}{shares}.")
    yield confusion_matrix(report)
    if report.values is not None:
        n_known = report.by_distance.sum()
        rows: list[list[Text]] = [
            [str(steps), Bar(count / n_known, "toward"), percent(count / n_known, 1), f"{count:,}"]
            for steps, count in enumerate(report.by_distance.tolist())
        ]
        yield Table(rows, ["steps away", "", "share", "documents"], "classes")


def _accuracy_tables(report: Reported) -> Iterator[Block]:
    """Yield tables of accuracy by probability, by coverage and by length."""
    tables = [
        (
            "Bar: share of right predictions, with its 95 % interval. Tick: mean probability of "
            "the predicted label. If the bar ends before the tick, the model is overconfident; if "
            "it ends after the tick, underconfident.",
            "probability",
            [(percent(b.confidence, 1), b, b.confidence) for b in report.reliability],
        ),
        (
            "Risk-coverage curve: the most confident documents alone, if a person decides about "
            "the others. selective_threshold chooses where to stop.",
            "probability",
            [(_at_least(b.confidence), b, None) for b in report.risk_coverage],
        ),
        (
            "Documents by length. If two intervals overlap widely, their difference may be chance.",
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
    for meaning, name, bins in tables:
        if bins:
            rows: list[list[Text]] = [
                [
                    of_bin,
                    Bar(b.accuracy, "toward", tick),
                    _interval(b.accuracy, b.low, b.high),
                    f"{b.n_documents:,}",
                ]
                for of_bin, b, tick in bins
            ]
            yield Table(rows, [name, "", "right", "documents"], "classes")
            yield Sentence(meaning, "han-small")


def _at_least(share: float) -> str:
    percentage = percent(share, 1)
    return percentage if percentage.startswith("above") else f"at least {percentage}"


def _mistakes(report: Reported, extent: str) -> Iterator[Block]:
    """Yield the worst mistakes, each with the sentence that misled the model."""
    rows = report.mistake_rows[: MISTAKES[extent]]
    if not len(rows) and extent != "terminal":
        yield Sentence("There are no mistakes on documents whose labels the model knows.")
    titles = [_verdict(report, row, place) for place, row in enumerate(rows)]
    signs = np.ones(len(rows))
    if report.mistake_labels is not None:  # against a missed label
        signs -= 2 * report.targets[rows, report.mistake_labels[: len(rows)]]
    suspects = () if report.several_labels else report.suspects
    yield from _explained_mistakes(report, extent, titles, signs, suspects)
    if len(rows):
        n_more = int((~report.right).sum()) - len(rows)
        yield from more(n_more, "document" if report.several_labels else "mistake")
    if n := len(report.suspects):
        what = plural(n, "label")
        yield Sentence(
            f"{what} may be wrong, as estimated by audit_labels: see report.suspects, or "
            "looks_mislabelled in report.to_frame(). Look at them: the estimate cannot "
            "distinguish a wrong label from a mistake of the model.",
            "han-small",
        )


def _explained_mistakes(
    report: Reported, extent: str, titles: list[Any], signs: NDArray[Any], suspects: Any = ()
) -> Iterator[Block]:
    """Yield the worst mistakes, each with what misled: for a sign of -1 the most against it."""
    in_terminal = extent == "terminal"
    rows = report.mistake_rows[: MISTAKES[extent]].tolist()
    if rows and not in_terminal:
        yield from legend(list(report.mistakes))
    for place, row in enumerate(rows):
        title = [f"Document {document_name(row, report.ids)}: ", *titles[place]]
        if not len(report.mistakes):
            text = None if report.texts is None else report.texts[row]
            yield entry(title, text, longest=LONGEST[extent])
            continue
        yield Heading(title, 4)
        yield _misleading_part(report.mistakes[place], signs[place])
        if in_terminal:
            continue
        if row in suspects:
            yield Sentence("This label may be wrong.", "han-small")
        shown = document_blocks([report.mistakes[place]], report.true_label(row))
        yield Fold("The whole document, word by word", shown, not place, "han-small")


def _verdict(report: Reported, row: int, place: int) -> list[Any]:
    """Return the predicted and the true label of a mistake, and which label is most wrong."""
    answer, marked = label_spans(report.answer(row)), label_spans(report.true_label(row))
    sure = "" if report.several_labels else f" ({percent(float(report.confidence[row]))})"
    verdict = ["predicted ", *answer, sure, ", labelled ", *marked]
    if report.mistake_labels is None:
        return verdict
    label = int(report.mistake_labels[place])
    kind = "missed" if report.targets[row, label] else "wrongly predicted"
    p = percent(float(report.probabilities[row, label]))
    return [Span(report.labels[label]), f" {kind} ({p}); ", *verdict]


def _misleading_part(explanation: Any, sign: float) -> Sentence:
    """Return the part that speaks most for the prediction, or with a sign of -1 against it."""
    shading = make_shading(explanation)
    if (sign * shading.values).max(initial=0.0) <= 0:
        side = "for" if sign > 0 else "against"
        return Sentence([f"Nothing speaks {side} ", *comparison(explanation), "."], "han-small")
    best = int((sign * shading.values).argmax())
    column = best - len(shading.sentences)
    if column >= 0:
        what = f"{explanation.column_names[column]} = {explanation.column_values[column]}"
    else:
        text = " ".join(explanation.sentences[best].split())
        what = f"\N{LEFT DOUBLE QUOTATION MARK}{text}\N{RIGHT DOUBLE QUOTATION MARK}"
    value = with_minus(shading.format_value(best))
    return Sentence(["Misled by ", Span(what), f" ({value})"], "han-misled")


def _with_interval(scores: Mapping[str, float], key: str, write: Callable[[float], str]) -> Text:
    """Return a score, with its 95 % interval if it has one; "" for a missing score."""
    if key not in scores:
        return ""
    if f"{key}_low" not in scores:
        return write(scores[key])
    return _interval(scores[key], scores[f"{key}_low"], scores[f"{key}_high"], write)


def _interval(
    value: float, low: float, high: float, write: Callable[[float], str] = decimal
) -> Text:
    interval = "[\N{EN DASH}]" if math.isnan(low) else f"[{write(low)}, {write(high)}]"
    return [Span(write(value), "strong"), " ", Span(interval, "small")]
