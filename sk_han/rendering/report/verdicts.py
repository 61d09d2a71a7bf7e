"""Sentences and numbers of a report, the same on the page and in a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from sk_han.rendering.notes import named
from sk_han.rendering.numbers import percent
from sk_han.rendering.protocols import Explained, Reported
from sk_han.utils.counts import agreeing, counted

# Of several labels: figures with an interval, and without one.
MEASURES = {
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "samples_f1": "samples F1",
    "subset_accuracy": "all labels right",
}
FIGURES = {
    "mean_average_precision": "mean average precision",
    "log_loss": "log loss",
    "calibration_error": "calibration error",
}
# Of unknown words, and of those behind the limits of a tokenizer, nothing tells.
OF_TRAINING = "the words of a training document, as far as the model reads them"
BASELINE = "TF-IDF + logistic regression"
LONGEST_SENTENCE = 1000

_MINUS = "\N{MINUS SIGN}"


def probability(value: float) -> str:
    """Write a probability with three decimals, and never one that is below 1 as 1."""
    return ">0.999" if 0.9995 <= value < 1 else f"{value:.3f}"


def three_decimals(value: float | None) -> str:
    """Write a figure; a dash where there is none."""
    return "\N{EN DASH}" if value is None or math.isnan(value) else f"{value:.3f}"


def by_f1(scores: Iterable[Any]) -> list[Any]:
    """Sort the scores of labels, those of the lowest F1 first, those without one last."""
    return sorted(scores, key=lambda found: 2.0 if found.f1 is None else found.f1)


def named_scores(
    report: Reported, write: Callable[[Any], str]
) -> list[tuple[str, dict[str, float]]]:
    """Return the scores of the model, and of what it is compared with, behind their names."""
    names = {"model": "the model", "baseline": "TF-IDF + a logistic regression for each label"}
    if not has_several(report):
        name = write(report.commonest_label)
        always = f"always \N{LEFT DOUBLE QUOTATION MARK}{name}\N{RIGHT DOUBLE QUOTATION MARK}"
        names |= {"baseline": BASELINE, "commonest": always}
    return [(names[key], found) for key, found in report.scores.items()]


def has_several(report: Reported) -> bool:
    """Return whether documents have several labels."""
    return bool(report.targets.ndim == 2)


def points(difference: float) -> str:
    """Write a difference of two shares in percentage points, with its sign."""
    decimals = 2 if 0 < abs(difference) < 0.0005 else 1
    return f"{100 * difference + 0.0:+.{decimals}f}".replace("-", _MINUS)


def learnt_from_note(report: Reported) -> str:
    """Say whether the model may have learnt from these documents."""
    if report.trained_on is None:
        return (
            "Has the model learnt from these documents? Nothing here tells. If it has, the figures "
            "below say nothing of new ones; training documents given beside them are compared."
        )
    n = len(report.trained_on)
    if n:
        found = f"{counted(n)} {agreeing(n, 'have')} {OF_TRAINING}"
        return f"{found}, so the figures are too good."
    return "None of these documents is known to have the words of a training document."


def sampled(report: Reported) -> str:
    """Name what intervals are taken to be samples of."""
    return "documents" if report.groups is None else "groups of documents"


def interval_of(found: dict[str, float], measure: str) -> str:
    """Write the ends of an interval; a dash where there is none."""
    if math.isnan(found[f"{measure}_low"]):
        return "[\N{EN DASH}]"
    return f"[{found[f'{measure}_low']:.3f}, {found[f'{measure}_high']:.3f}]"


def gain_note(report: Reported) -> str:
    """Say which of model and baseline is better, and whether that may be chance."""
    if report.gain is None:
        return ""
    gain, low, high = report.gain
    ends = f"{points(low)} to {points(high)} points"
    is_chance = not (low > 0 or high < 0)
    better = ": here the simpler model is better"
    if has_several(report):
        if low == high == 0:
            return "Micro F1 is that of the baseline."
        interval = f" (95 % interval {ends})" if low < high else ""
        found = f"Micro F1 is {points(gain)} points against the baseline's{interval}"
        if is_chance:
            return f"{found}, which may be chance."
        return f"{found}." if gain > 0 else f"{found}{better}."
    interval = f"95 % interval of the difference: {ends}"
    n_more = counted(abs(round(gain * report.n_documents)))
    if is_chance:
        if not round(gain * report.n_documents):
            return f"Model and baseline are right on equally many documents ({interval})."
        on_more = n_more.replace(" ", " more " if gain > 0 else " fewer ")
        return (
            f"The model is right on {on_more} than the baseline, which may be chance ({interval})."
        )
    if gain > 0:
        return f"The model is right on {n_more} more than the baseline ({interval})."
    return f"The baseline is right on {n_more} more than the model ({interval}){better}."


def mistake_note(report: Reported, position: int, write: Callable[[Any], str]) -> str:
    """Say what one of the worst mistakes is; with several labels, which of them is most wrong."""
    row = int(report.mistake_rows[position])
    answer, marked = (named(each(row), write) for each in (report.answer, report.marked))
    if not has_several(report):
        sure = write(probability(float(report.confidence[row])))
        return f"predicted {answer} {sure}, labelled {marked}"
    label = int(report.mistake_labels[position])
    kind = "missed" if report.targets[row, label] else "wrongly given"
    p = write(probability(float(report.probabilities[row, label])))
    return f"{write(report.labels[label])} {kind} ({p}); predicted {answer}, labelled {marked}"


def sign_of_mistake(report: Reported, position: int) -> int:
    """Return -1 for a label that is missed, whose sentences against it misled; else 1."""
    if not has_several(report):
        return 1
    missed = report.targets[report.mistake_rows[position], report.mistake_labels[position]]
    return -1 if missed else 1


def misleading_sentence(explanation: Explained, sign: int = 1) -> tuple[str, float] | None:
    """Return the sentence that spoke most for the explained label, and how much; or None.

    With a sign of -1, the one that spoke most against it.
    """
    values = sign * explanation.sentence_contributions
    if not len(values) or values.max() <= 0:
        return None
    best = int(values.argmax())
    text = " ".join(explanation.sentences[best].split())
    return text[:LONGEST_SENTENCE], float(explanation.sentence_contributions[best])


def sureness_note(report: Reported) -> str:
    """Say whether the model is as often right as it is confident, on average."""
    confidence, accuracy = float(report.confidence.mean()), float(report.right.mean())
    low = report.scores["model"]["accuracy_low"]
    high = report.scores["model"]["accuracy_high"]
    found = (
        f"On average the model gives its answer a probability of {percent(confidence, 1)}, and it "
        f"is right on {percent(accuracy, 1)} of the documents"
    )
    if low <= confidence <= high:
        return f"{found}: neither too sure nor too unsure on the whole, as far as they tell."
    verdict = "too sure of itself" if confidence > accuracy else "less sure than it could be"
    return f"{found}: it is {verdict}."
