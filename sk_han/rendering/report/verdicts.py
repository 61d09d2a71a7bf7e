"""Sentences and numbers of a report, the same on the page and in a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sk_han.rendering.numbers import counted, percent
from sk_han.rendering.protocols import Reported

BASELINE = "TF-IDF + logistic regression"

_MINUS = "\N{MINUS SIGN}"


def probability(value: float) -> str:
    """Write a probability with three decimals, and never one that is below 1 as 1."""
    return ">0.999" if 0.9995 <= value < 1 else f"{value:.3f}"


def three_decimals(value: float | None) -> str:
    """Write a figure; a dash where there is none."""
    return "\N{EN DASH}" if value is None else f"{value:.3f}"


def by_f1(scores: Iterable[Any]) -> list[Any]:
    """Sort the scores of labels, those of the lowest F1 first, those without one last."""
    return sorted(scores, key=lambda found: 2.0 if found.f1 is None else found.f1)


def always(name: str) -> str:
    """Name the prediction of one label for all documents."""
    return f"always \N{LEFT DOUBLE QUOTATION MARK}{name}\N{RIGHT DOUBLE QUOTATION MARK}"


def points(difference: float) -> str:
    """Write a difference of two shares in percentage points, with its sign."""
    return f"{100 * difference:+.1f}".replace("-", _MINUS)


def learnt_from_note(report: Reported) -> str:
    """Say whether the model may have learnt from these documents."""
    if report.trained_on is None:
        return (
            "Has the model learnt from these documents? Nothing here tells. If it has, the figures "
            "below say nothing of new ones; training documents given beside them are compared."
        )
    n = len(report.trained_on)
    if n:
        are = "is" if n == 1 else "are"
        return f"{counted(n)} {are} among the training documents too, so the figures are too good."
    return "None of these documents has the words of a training document."


def sampled(report: Reported) -> str:
    """Name what intervals are taken to be samples of."""
    return "documents" if report.groups is None else "groups of documents"


def gain_note(report: Reported) -> str:
    """Say which of model and baseline is better, and whether that may be chance."""
    if report.gain is None:
        return ""
    gain, low, high = report.gain
    interval = f"95 % interval of the difference: {points(low)} to {points(high)} points"
    n_more = counted(abs(round(gain * report.n_documents)))
    if low <= 0 <= high:
        if not round(gain * report.n_documents):
            return f"Model and baseline are right on equally many documents ({interval})."
        better = "more" if gain > 0 else "fewer"
        return (
            f"The model is right on {n_more.replace(' ', f' {better} ')} than the baseline, which "
            f"may be chance ({interval})."
        )
    if gain > 0:
        return f"The model is right on {n_more} more than the baseline ({interval})."
    return (
        f"The baseline is right on {n_more} more than the model ({interval}): here the simpler "
        "model is better."
    )


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
        return f"{found}: as far as these documents tell, it is as sure as it should be."
    verdict = "too sure of itself" if confidence > accuracy else "less sure than it could be"
    return f"{found}: it is {verdict}."
