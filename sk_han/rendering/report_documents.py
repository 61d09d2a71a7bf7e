"""The documents of a report, and the verdicts on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from sk_han.rendering.explanation_html import document_markup, legend_markup
from sk_han.rendering.explanation_text import comparison, named
from sk_han.rendering.html import entry, escaped, fold, isolated, more, with_minus
from sk_han.rendering.shading import Explained, Reported, number, percent
from sk_han.utils.messages import agreeing, counted, shortened_apart

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


_LONGEST_NAME = 24  # characters: the style sheet cuts wider ones than 15rem at their end


_NONE_WRONG = "No document with a label that the model knows is predicted wrong."


_NO_LABEL_WRONG = "All labels of all documents are right."


_SUREST = "The mistakes that the model was surest of."


_MOST_WRONG = "The documents in which the probability of a label is most wrong."


_QUOTED = "The sentence that speaks most for the wrong label is quoted, and behind it how much."


_QUOTED_OF_LABELS = (
    "The sentence that misled most is quoted: of a label wrongly given, the one that speaks most "
    "for it; of a label missed, the one that speaks most against it."
)


_SUSPECTED = (
    "Labels that are likelier wrong than right, as <code>audit_labels</code> finds them: by Bayes' "
    "rule, with the rates at which labels are mistaken among the documents that the model is "
    "surest of. Only documents that the model gets wrong are listed. It cannot tell a wrong label "
    "from a mistake of its own: a person has to look."
)


_SUSPECTED_OF_LABELS = (
    "Marks that are likelier wrong than right, as <code>audit_labels</code> finds them for each "
    "label by itself: by Bayes' rule, with the rates at which it is missed or marked wrongly among "
    "the documents that the model is surest of. It cannot tell a wrong mark from a mistake of the "
    "model: a person has to look."
)


class Bounds(NamedTuple):
    """How much a page shows: documents in all lists and in one, their text, explained mistakes."""

    documents: int
    in_a_list: int
    characters: int
    mistakes: int


def prefix_of(report: Reported) -> str:
    """Return what the ids of a page begin with, so that a notebook can hold several pages."""
    return f"han-{report.digest}"


def names_markup(labels: Iterable[object]) -> list[str]:
    """Return labels that may be cut, each with a title that has all of it."""
    texts = [str(label) for label in labels]
    return [
        f'<span class="han-name" title="{escaped(text)}"><bdi>{escaped(name)}</bdi></span>'
        for text, name in zip(texts, shortened_apart(texts, _LONGEST_NAME), strict=True)
    ]


def entries_of(report: Reported, rows: Iterable[int], bounds: Bounds) -> str:
    """Return documents whose label and prediction are known from the title above them."""
    return "".join(_entry(report, row, _confidence(report, row), bounds) for row in rows)


def mistakes(report: Reported, bounds: Bounds) -> str:
    """Return the worst mistakes, each with the sentence that misled."""
    several = has_several(report)
    rows = report.mistake_rows[: bounds.mistakes].tolist()
    if not rows:
        return f"<p>{_NO_LABEL_WRONG if several else _NONE_WRONG}</p>"
    intro = _MOST_WRONG if several else _SUREST
    n_more = int((~report.right).sum()) - len(rows)
    left_out = more(n_more, "document" if several else "mistake")
    if not len(report.mistakes):
        return f"<p>{intro}</p>{_judged(report, rows, bounds)}{left_out}"
    legend = legend_markup(list(report.mistakes), "contributions")
    articles = "".join(_mistake(report, position) for position in range(len(rows)))
    quoted = _QUOTED_OF_LABELS if several else _QUOTED
    return f"<p>{intro} {quoted}</p>{legend}{articles}{left_out}"


def _mistake(report: Reported, position: int) -> str:
    row, explanation = int(report.mistake_rows[position]), report.mistakes[position]
    doubt = ""
    if not has_several(report) and row in report.suspects:
        doubt = (
            f'<p class="han-small">Its label <a href="#{prefix_of(report)}-labels">looks wrong</a> '
            "too.</p>"
        )
    whole = fold(
        "The whole document, word by word",
        '<div class="han-explained">'
        f"{document_markup(explanation, 'contributions', report.marked(row))}</div>",
        is_open=not position,
    )
    return (
        f'<article class="han-mistake" id="{prefix_of(report)}-doc-{row}">'
        f"<h3>Document {row:,}: {mistake_note(report, position, isolated)}</h3>"
        f"{_misled(report, position)}{doubt}{whole}</article>"
    )


def _misled(report: Reported, position: int) -> str:
    """Return the sentence that misled, and how much it says."""
    explanation, sign = report.mistakes[position], sign_of_mistake(report, position)
    sentence = misleading_sentence(explanation, sign)
    if sentence is None:
        side = "for" if sign > 0 else "against"
        target = comparison(explanation, isolated)
        return (
            f'<p class="han-small">No sentence speaks {side} {target}: the model had little to go '
            "by.</p>"
        )
    text, value = sentence
    return (
        f'<div class="han-misled">\N{LEFT DOUBLE QUOTATION MARK}{escaped(text)}'
        f'\N{RIGHT DOUBLE QUOTATION MARK} <span class="han-number">'
        f"{with_minus(number(value, True))}</span></div>"
    )


def suspects(report: Reported, bounds: Bounds) -> str:
    """Return the documents whose label, or one of whose labels, may be wrong."""
    several = has_several(report)
    method = f"<p>{_SUSPECTED_OF_LABELS if several else _SUSPECTED}</p>"
    shown = report.suspects[: bounds.in_a_list].tolist()
    if not shown:
        return f"{method}<p>None was found.</p>"
    if several:
        entries = "".join(_suspect(report, row, label, bounds) for row, label in shown)
    else:
        entries = _judged(report, shown, bounds)
    n, what = len(report.suspects), "label" if several else "document"
    found = f"<p><b>{counted(n, what)}</b>, the most suspicious first.</p>"
    return f"{method}{found}{entries}{more(n - len(shown), what)}"


def _suspect(report: Reported, row: int, label: int, bounds: Bounds) -> str:
    has = "marked" if report.targets[row, label] else "not marked"
    p = _number(probability(float(report.probabilities[row, label])))
    return _entry(report, row, f"{has} <b>{isolated(report.labels[label])}</b> {p}", bounds)


def duplicates(report: Reported, bounds: Bounds) -> str:
    """Return documents with the same words, those with different labels first."""
    parts = []
    if report.trained_on is not None and len(report.trained_on):
        n = len(report.trained_on)
        rows = report.trained_on[: bounds.in_a_list].tolist()
        parts.append(
            f"<p><b>{counted(n)}</b> {agreeing(n, 'have')} {OF_TRAINING}: it may have memorized "
            "them, and scores are too good."
            f"</p>{_judged(report, rows, bounds)}{more(n - len(rows), 'document')}"
        )
    groups = sorted(report.duplicates, key=lambda group: not report.has_conflict(group))
    if not groups:
        same = "" if report.texts is None else ", apart from case and punctuation"
        parts.append(f"<p>No two documents have the same words{same}.</p>")
        return "".join(parts)
    n_conflicts = sum(map(report.has_conflict, groups))
    n_documents = sum(map(len, groups))
    told = "with the same label each" if not n_conflicts else f"{n_conflicts} with different labels"
    parts.append(
        f"<p>{counted(n_documents)} in {counted(len(groups), 'group')} of the same words, {told}. "
        "Case and punctuation do not count. Different labels of one text cannot both be "
        "learnt.</p>"
    )
    for group in groups[: bounds.in_a_list]:
        labels = list(dict.fromkeys(report.marked(row) for row in group))
        between = "; " if has_several(report) else ", "
        names = between.join(named(label, isolated) for label in labels)
        mark = '<span class="han-verdict">different labels</span> ' * report.has_conflict(group)
        entries = _judged(report, group[: bounds.in_a_list], bounds)
        title = f'{counted(len(group))} {mark}<span class="han-small">{names}</span>'
        left_out = more(len(group) - bounds.in_a_list, "document")
        parts.append(fold(title, f"<div>{entries}{left_out}</div>", "han-fold"))
    parts.append(more(len(groups) - bounds.in_a_list, "group"))
    return "".join(parts)


def _judged(report: Reported, rows: Iterable[int], bounds: Bounds) -> str:
    """Return documents with their label and what the model says."""
    entries, several = [], has_several(report)
    for row in rows:
        label, answer = (named(each(row), isolated) for each in (report.marked, report.answer))
        sure = "" if several else f" {_confidence(report, row)}"  # a set of labels has none
        said = f"labelled <b>{label}</b>, predicted <b>{answer}</b>{sure}"
        entries.append(_entry(report, row, said, bounds))
    return "".join(entries)


def _entry(report: Reported, row: int, said: str, bounds: Bounds) -> str:
    """Return a document that opens, with a link to where it is explained."""
    link = ""
    if row in report.mistake_rows[: min(len(report.mistakes), bounds.mistakes)]:
        link = f' <a href="#{prefix_of(report)}-doc-{row}">explained</a>'
    text = None if report.texts is None else report.texts[row]
    return entry(f"{_number(f'{row:,}')} {said}", text, longest=bounds.characters, link=link)


def _confidence(report: Reported, row: int) -> str:
    return _number(probability(float(report.confidence[row])))


def _number(text: str) -> str:
    return f'<span class="han-number">{escaped(text)}</span>'
