"""Explanations as tables of pandas."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sk_han.rendering.explanation_html import document_markup, legend_markup
from sk_han.rendering.html import EXCERPT, entry, escaped, excerpt, isolated, more, page, table
from sk_han.rendering.shading import Audited, Explained, ExplainedDocuments, Level
from sk_han.utils.containers import frame_of
from sk_han.utils.messages import counted, import_optional, in_one_line

if TYPE_CHECKING:
    from pandas import DataFrame


# A table without rows, of no mistakes for example, has all its columns too.
_NO_SPANS, _NO_NUMBERS = np.empty((0, 2), dtype=np.int64), np.empty(0)


_NOTHING: Any = SimpleNamespace(
    words=(),
    sentences=(),
    word_spans=_NO_SPANS,
    sentence_spans=_NO_SPANS,
    sentence_of_word=_NO_SPANS[:, 0],
    word_attention=_NO_NUMBERS,
    combined_attention=_NO_NUMBERS,
    sentence_attention=_NO_NUMBERS,
    contributions=_NO_NUMBERS,
    sentence_contributions=_NO_NUMBERS,
    ngram_contributions=_NO_NUMBERS,
    unknown=np.empty(0, dtype=bool),
    target=None,
)


def columns_of(explanation: Explained, level: Level) -> dict[str, Any]:
    """Return what there is to say of each word or sentence."""
    if level == "sentence":
        return {
            "text": explanation.sentences,
            "start": explanation.sentence_spans[:, 0],
            "end": explanation.sentence_spans[:, 1],
            "attention": explanation.sentence_attention,
            "contribution": explanation.sentence_contributions,
        }
    if level == "word":
        return {
            "text": explanation.words,
            "start": explanation.word_spans[:, 0],
            "end": explanation.word_spans[:, 1],
            "attention": explanation.word_attention,
            "combined_attention": explanation.combined_attention,
            "contribution": explanation.contributions,
            "ngram_contribution": explanation.ngram_contributions,
            "unknown": explanation.unknown,
        }
    raise ValueError(f"level must be 'word' or 'sentence'; got {level!r}.")


def explanation_frame(explanation: Explained, level: Level) -> DataFrame:
    """Return the words or sentences of an explanation as rows of a pandas DataFrame."""
    columns = columns_of(explanation, level)
    pandas = import_optional("pandas", None, "DocumentExplanation.to_frame")
    frame = pandas.DataFrame({level: pandas.Series(columns.pop("text"), dtype=object)} | columns)
    if level == "word":
        frame.insert(3, "sentence", explanation.sentence_of_word)
    return frame


def explanations_frame(
    explanations: ExplainedDocuments, level: Literal["document"] | Level
) -> DataFrame:
    """Return the documents, sentences or words of explanations as rows of a pandas DataFrame."""
    if level not in ("document", "sentence", "word"):
        raise ValueError(f"level must be 'document', 'sentence' or 'word'; got {level!r}.")
    pandas = import_optional("pandas", None, "ExplanationList.to_frame")
    if level == "document":
        return _documents(explanations)
    compared = any(e.against is not None for e in explanations)
    numbered = list(zip(explanations.numbers.tolist(), explanations, strict=True))
    frames = []
    for number, explanation in numbered or [(0, _NOTHING)]:
        frame = explanation_frame(explanation, level)
        frame.insert(0, "document", number)
        for name in ("against", "target") if compared else ("target",):
            values = [getattr(explanation, name)] * len(frame)
            frame.insert(1, name, pandas.Series(values, dtype=object))
        frames.append(frame)
    return pandas.concat(frames, ignore_index=True)


def _documents(explanations: ExplainedDocuments) -> DataFrame:
    strongest = [explanation.top(1, level="sentence") for explanation in explanations]
    columns = {
        "document": explanations.numbers,
        "text": [e.text for e in explanations],
        "predicted": [e.answer for e in explanations],
        "probability": [e.predicted_probability for e in explanations],
    }
    y_true = explanations.y_true
    if y_true is not None:
        columns["true"] = y_true.tolist()
        columns["correct"] = [
            bool(e.answer == true) for e, true in zip(explanations, y_true, strict=True)
        ]
    columns["target"] = [e.target for e in explanations]
    if any(e.labels is not None for e in explanations):
        columns["target_probability"] = [
            float(e.probabilities[e.classes.tolist().index(e.target)]) for e in explanations
        ]
    if any(e.against is not None for e in explanations):
        columns["against"] = [e.against for e in explanations]
    return frame_of(
        columns
        | {
            "sentences": [len(e.sentence_spans) for e in explanations],
            "words": [len(e.word_spans) for e in explanations],
            "truncated": [e.truncated for e in explanations],
            "strongest_sentence": [top[0].text if top else "" for top in strongest],
            "strongest_contribution": [top[0].score if top else 0.0 for top in strongest],
        },
        "ExplanationList.to_frame",
    )


Write = Callable[[object], str]


FIRST = 100


_LINES, _IN_A_NOTEBOOK, _PAIRS, _CONFLICTS = 20, 20, 10, 20


_DOUBTS_ON_A_PAGE = 200


_HOW = (
    "Up to five models were fitted, each without a part of the documents, and predicted these. A "
    "doubt is an estimate of the chance that a label is wrong. It takes what the models are surest "
    "of for right, and cannot tell a wrong label from a mistake that they share: a person has to "
    "look. Of errors that go one way, as labels that are missing, too few may be expected."
)


def audit_text(audit: Audited) -> str:
    """Return the lines of `LabelAudit.to_text`."""
    lines = [
        f"{one.doubt:.3f}  document {one.document}: {_verdict(audit, one, in_one_line)}"
        f"{_beginning(_text_of(audit, one))}"
        for one in audit[:_LINES]
    ]
    rest = len(audit) - len(lines)
    left_out = [f"... and {rest:,} more"] if rest else []
    return "\n".join([*audit.notes, _expected(audit, in_one_line), *lines, *left_out])


def audit_page(audit: Audited, full_page: bool) -> str:
    """Return the page of an audit, or a fragment of one."""
    parts = []
    pairs = [found for found in audit.confused()[:_PAIRS] if found[2] >= 0.5]
    if pairs:
        rather, write = ("Rather", isolated) if audit.marked is None else ("Doubt", _mark)
        rows = [(isolated(label), write(other), f"{n:.0f}") for label, other, n in pairs]
        markup = table(("Label", rather, "Expected wrong"), rows)
        parts.append(f"<h2>Most confused labels</h2>{markup}")
    if audit.conflicts:
        parts.append(f"<h2>The same words with different labels</h2>{_conflicts(audit)}")
    parts.append("<h2>The most doubtful labels</h2>")
    if len(audit.explanations):
        parts.append(legend_markup(list(audit.explanations), "contributions"))
    shown = _DOUBTS_ON_A_PAGE if full_page else _IN_A_NOTEBOOK
    for place, one in enumerate(audit[:shown]):
        head = (
            f'<span class="han-number">{one.doubt:.3f}</span> document {one.document:,}: '
            f"{_verdict(audit, one, isolated)}"
        )
        content = None
        if place < len(audit.explanations):
            explained = document_markup(audit.explanations[place], "contributions")
            content = f'<div class="han-explained">{explained}</div>'
        parts.append(entry(head, _text_of(audit, one), content, is_open=not place))
    parts.append(more(len(audit) - shown))
    title = f"Labels of {counted(audit.n_documents)}"
    # How far the models can be asked comes first: where they say nothing, so does the number.
    notes = "".join(f"<p>{escaped(note)}</p>" for note in audit.notes)
    head = f"{notes}<p><b>{_expected(audit, isolated)}</b></p><p>{_HOW}</p>"
    content = f"{head}{''.join(parts)}"
    return page(f"<main>{content}</main>" if full_page else content, title, full_page, "report")


def _beginning(text: str | None) -> str:
    return "" if text is None else f"  {in_one_line(text)[:60]}"


def _text_of(audit: Audited, one: Any) -> str | None:
    return None if audit.texts is None else audit.texts[one.document]


def _expected(audit: Audited, write: Write) -> str:
    """Say how many labels are expected to be wrong, and which are most often."""
    first = min(FIRST, len(audit))
    n_wrong = f"{audit.n_expected():,.0f}"
    labels = "label is" if n_wrong == "1" else "labels are"
    found = f"{counted(audit.n_documents)}: about {n_wrong} {labels} expected to be wrong"
    if first:
        found += f", {audit.n_expected(first):,.0f} of the {first} most doubtful"
    for label, other, n in audit.confused()[:1]:
        rather = f" for {write(other)}" if audit.marked is None else f", {_mark(other)}"
        if n >= 1:
            found += f"; most often {write(label)}{rather} ({n:,.0f})"
    return f"{found}."


def _mark(marked: object) -> str:
    return "marked where it is wrong" if marked else "missing where it is right"


def _verdict(audit: Audited, one: Any, write: Write) -> str:
    if audit.marked is None:
        return f"labelled {write(one.label)}, rather {write(one.suggested)}"
    return f"{write(one.label)} is {'marked, rather not' if one.marked else 'missing, perhaps'}"


def _conflicts(audit: Audited) -> str:
    found = []
    for group in audit.conflicts[:_CONFLICTS]:
        rows = ", ".join(f"{row:,}" for row in group)
        beginning = "" if audit.texts is None else excerpt(audit.texts[group[0]], EXCERPT)
        found.append(f"<p>Documents {rows}: <bdi>{beginning}</bdi></p>")
    return "".join(found) + more(len(audit.conflicts) - _CONFLICTS)
