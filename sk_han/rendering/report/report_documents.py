"""Documents on the page of a report: worst mistakes, doubtful labels, duplicates."""

from __future__ import annotations

from typing import Any

from sk_han.rendering.explanation_html import document_markup
from sk_han.rendering.legend import legend_markup
from sk_han.rendering.markup import escaped, fold, isolated, with_minus
from sk_han.rendering.notes import comparison, named
from sk_han.rendering.numbers import counted
from sk_han.rendering.protocols import Explained, Reported
from sk_han.rendering.report.lists import (
    Bounds,
    entries_of,
    judged,
    more,
    prefix_of,
    shown_probability,
)
from sk_han.rendering.shading import number

LONGEST_SENTENCE = 1000


def mistakes(report: Reported, bounds: Bounds) -> str:
    """Return the worst mistakes, each with the sentence that misled."""
    rows = report.mistake_rows[: bounds.mistakes].tolist()
    if not rows:
        return "<p>No document with a label that the model knows is predicted wrong.</p>"
    n_more = int((~report.right).sum()) - len(rows)
    intro = "<p>The mistakes that the model was surest of. "
    if not len(report.mistakes):
        return f"{intro}</p>{judged(report, rows, bounds)}{more(n_more, 'mistake')}"
    articles = "".join(
        _mistake(report, row, explanation, is_open=not position)
        for position, (row, explanation) in enumerate(zip(rows, report.mistakes, strict=False))
    )
    return (
        f"{intro}The sentence that speaks most for the wrong label is quoted, and behind it how "
        f"much.</p>{legend_markup(list(report.mistakes), 'contributions')}{articles}"
        f"{more(n_more, 'mistake')}"
    )


def _mistake(report: Reported, row: int, explanation: Explained, *, is_open: bool) -> str:
    label, predicted = report.labels[report.targets[row]], explanation.predicted
    whole = whole_document(explanation, is_open=is_open)
    doubt = ""
    if row in report.suspects:
        doubt = (
            f'<p class="han-small">Its label <a href="#{prefix_of(report)}-labels">looks wrong</a> '
            "too.</p>"
        )
    return (
        f'<article class="han-mistake" id="{prefix_of(report)}-doc-{row}">'
        f"<h3>Document {row:,}: predicted {isolated(predicted)} "
        f'<span class="han-number">{shown_probability(report, row)}</span>, labelled '
        f"{isolated(label)}</h3>{misled(explanation)}{doubt}{whole}</article>"
    )


def whole_document(explanation: Explained, true: Any = None, *, is_open: bool) -> str:
    """Return the coloured text of a document behind a fold; `true` as of `document_markup`."""
    return fold(
        "The whole document, word by word",
        f'<div class="han-explained">{document_markup(explanation, "contributions", true)}</div>',
        is_open=is_open,
    )


def misled(explanation: Explained, sign: int = 1) -> str:
    """Return the sentence that misled, and how much it says."""
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


def suspects(report: Reported, bounds: Bounds) -> str:
    """Return the documents whose label may be wrong."""
    method = (
        "<p>Labels that are likelier wrong than right, as <code>audit_labels</code> finds them: by "
        "Bayes' rule, with the rates at which labels are mistaken among the documents that the "
        "model is surest of. Only documents that the model gets wrong are listed. It cannot tell "
        "a wrong label from a mistake of its own: a person has to look.</p>"
    )
    rows = report.suspects[: bounds.in_a_list].tolist()
    if not rows:
        return f"{method}<p>None was found.</p>"
    entries = judged(report, rows, bounds)
    found = f"<p><b>{counted(len(report.suspects))}</b>, the most suspicious first.</p>"
    return f"{method}{found}{entries}{more(len(report.suspects) - len(rows))}"


def duplicates(report: Reported, bounds: Bounds) -> str:
    """Return documents with the same words, those with different labels first."""
    parts = []
    if report.trained_on is not None and len(report.trained_on):
        n = len(report.trained_on)
        rows = report.trained_on[: bounds.in_a_list]
        parts.append(
            f"<p><b>{counted(n)}</b> {'stands' if n == 1 else 'stand'} among the training "
            "documents too: what the model knows of them it may know by heart, and scores are too "
            f"good.</p>{entries_of(report, rows, bounds)}{more(n - len(rows))}"
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
        between = "; " if isinstance(labels[0], tuple) else ", "
        names = between.join(named(label, isolated) for label in labels)
        mark = '<span class="han-verdict">different labels</span> ' * report.has_conflict(group)
        entries = judged(report, group[: bounds.in_a_list], bounds)
        title = f'{counted(len(group))} {mark}<span class="han-small">{names}</span>'
        left_out = more(len(group) - bounds.in_a_list)
        parts.append(fold(title, f"<div>{entries}{left_out}</div>", "han-fold"))
    parts.append(more(len(groups) - bounds.in_a_list, "group"))
    return "".join(parts)
