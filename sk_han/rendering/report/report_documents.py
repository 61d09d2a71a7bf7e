"""Documents on the page of a report: worst mistakes, doubtful labels, duplicates; no list ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sk_han.rendering.explanation_html import document_markup
from sk_han.rendering.legend import legend_markup
from sk_han.rendering.markup import entry, escaped, fold, isolated, more, with_minus
from sk_han.rendering.notes import comparison, named
from sk_han.rendering.protocols import Reported
from sk_han.rendering.report.verdicts import (
    OF_TRAINING,
    has_several,
    misleading_sentence,
    mistake_note,
    probability,
    sign_of_mistake,
)
from sk_han.rendering.shading import number
from sk_han.utils.counts import agreeing, counted
from sk_han.utils.visible_text import shortened_apart

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
