"""A report on several labels a document as one HTML page, or a part of one."""

from __future__ import annotations

from collections.abc import Iterator

from sk_han.rendering.legend import legend_markup
from sk_han.rendering.markup import escaped, isolated, table
from sk_han.rendering.numbers import counted
from sk_han.rendering.protocols import Reported
from sk_han.rendering.report.lists import Bounds, entry, judged, more, name_markup, prefix_of
from sk_han.rendering.report.multilabel_text import (
    BASELINE,
    FIGURES,
    MEASURES,
    interval,
    label_gain_note,
    verdict,
)
from sk_han.rendering.report.page import bounds_of, by_label, page_head, report_page
from sk_han.rendering.report.report_charts import history_charts
from sk_han.rendering.report.report_documents import duplicates, misled, whole_document
from sk_han.rendering.report.verdicts import probability, sampled

PAIRS = 20
FURTHER = ("Average precision", "Log loss", "Threshold")  # of each label, behind F1
AVERAGES = {
    "micro": "of all labels of all documents together: frequent labels count most",
    "macro": "the mean over labels: a rare label counts as much as a common one",
    "samples": "the mean over documents",
}


def render_label_report(report: Reported, *, full_page: bool = True) -> str:
    """Return a report as a page or a fragment; see `MultilabelReport.to_html`."""
    bounds = bounds_of(full_page)
    return report_page(report, _head(report), list(_sections(report, bounds)), full_page)


def _sections(report: Reported, bounds: Bounds) -> Iterator[tuple[str, str, str]]:
    """Yield name, title and content of each section."""
    yield "scores", "Scores", _scores(report)
    yield "confusion", "What is missed, and what is given instead", _taken(report)
    history = history_charts(report)
    if history:
        note = f"<p>{counted(len(report.history), 'epoch')} of the network alone.</p>"
        yield "training", "Training", f'{note}<div class="han-figures">{"".join(history)}</div>'
    yield "mistakes", "The worst mistakes", _mistakes(report, bounds)
    yield "labels", "Labels that may be marked wrongly", _suspects(report, bounds)
    if report.texts is not None or report.duplicates:
        yield "duplicates", "Duplicates", duplicates(report, bounds)


def _head(report: Reported) -> str:
    names = {"model": "the model", "baseline": BASELINE}
    tiles = "".join(
        f'<div class="han-tile{" han-first" if key == "model" else ""}">'
        f'<span class="han-small">{names[key]}</span><b>{found["micro_f1"]:.3f}</b>'
        f'<span class="han-small">micro F1, {interval(found, "micro_f1")}</span></div>'
        for key, found in report.scores.items()
    )
    return page_head(report, tiles, escaped(label_gain_note(report)) if report.gain else "")


def _scores(report: Reported) -> str:
    names = {"model": "the model", "baseline": BASELINE}
    rows = [
        [
            names[key],
            *(
                f'{found[measure]:.3f}<span class="han-small">{interval(found, measure)}</span>'
                for measure in MEASURES
            ),
            *(f"{found[measure]:.3f}" for measure in FIGURES),
        ]
        for key, found in report.scores.items()
    ]
    head = (
        "",
        *(name[:1].upper() + name[1:] for name in MEASURES.values()),
        *(name[:1].upper() + name[1:] for name in FIGURES.values()),
    )
    model = report.scores["model"]
    averages = [
        [
            f'{name}<span class="han-small">{meaning}</span>',
            *(
                f"{model[f'{name}_{measure}']:.3f}"
                f'<span class="han-small">{interval(model, f"{name}_{measure}")}</span>'
                for measure in ("precision", "recall", "f1")
            ),
        ]
        for name, meaning in AVERAGES.items()
    ]
    averages_head = ("Average, of the model", "Precision", "Recall", "F1")
    note = escaped(report.baseline_note)
    return (
        f'<div class="han-wide">{table(head, rows)}</div><p class="han-small">{note} Below each '
        f"figure is the interval that holds it in 95 of 100 such samples of {sampled(report)} "
        f"(bootstrap).</p>{by_label(report.label_scores, *FURTHER)}"
        f'<h3>Averages</h3><div class="han-wide">{table(averages_head, averages)}</div>'
    )


def _taken(report: Reported) -> str:
    pairs = report.taken_for()
    if not pairs:
        return "<p>All labels of all documents are right.</p>"
    rows = [
        [
            *("nothing" if label is None else name_markup(label) for label in pair[:2]),
            f"{pair[2]:,}",
        ]
        for pair in pairs[:PAIRS]
    ]
    return (
        "<p>In how many documents a label is missed while another one is wrongly given; nothing "
        "stands for documents that miss none, or get none too many.</p>"
        f'<div class="han-wide">{table(("Missed", "Wrongly given", "Documents"), rows)}</div>'
        f"{more(len(pairs) - PAIRS, 'pair')}"
    )


def _mistakes(report: Reported, bounds: Bounds) -> str:
    rows = report.mistake_rows[: bounds.mistakes].tolist()
    if not rows:
        return "<p>All labels of all documents are right.</p>"
    n_more = int((~report.right).sum()) - len(rows)
    intro = "The documents in which the probability of a label is most wrong."
    if not len(report.mistakes):
        return f"<p>{intro}</p>{judged(report, rows, bounds)}{more(n_more, 'document')}"
    articles = []
    for position, row in enumerate(rows):
        sign = -1 if report.targets[row, report.mistake_labels[position]] else 1
        explanation = report.mistakes[position]
        articles.append(
            f'<article class="han-mistake" id="{prefix_of(report)}-doc-{row}">'
            f"<h3>Document {row:,}: {verdict(report, position, isolated)}</h3>"
            f"{misled(explanation, sign)}"
            f"{whole_document(explanation, report.marked(row), is_open=not position)}"
            "</article>"
        )
    return (
        f"<p>{intro} The sentence that misled most is quoted: of a label wrongly given, the one "
        "that speaks most for it; of a label missed, the one that speaks most against it.</p>"
        f"{legend_markup(list(report.mistakes), 'contributions')}{''.join(articles)}"
        f"{more(n_more, 'document')}"
    )


def _suspects(report: Reported, bounds: Bounds) -> str:
    method = (
        "<p>Marks that are likelier wrong than right, as <code>audit_labels</code> finds them for "
        "each label by itself: by Bayes' rule, with the rates at which it is missed or marked "
        "wrongly among the documents that the model is surest of. It cannot tell a wrong mark "
        "from a mistake of the model: a person has to look.</p>"
    )
    shown = report.suspects[: bounds.in_a_list].tolist()
    if not shown:
        return f"{method}<p>None was found.</p>"
    entries = []
    for row, label in shown:
        has = "marked" if report.targets[row, label] else "not marked"
        p = escaped(probability(float(report.probabilities[row, label])))
        said = f'{has} <b>{isolated(report.labels[label])}</b> <span class="han-number">{p}</span>'
        entries.append(entry(report, row, said, bounds))
    found = f"<p><b>{counted(len(report.suspects), 'label')}</b>, the most suspicious first.</p>"
    return f"{method}{found}{''.join(entries)}{more(len(report.suspects) - len(shown), 'label')}"
