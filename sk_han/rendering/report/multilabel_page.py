"""A report on several labels a document as one HTML page, or a part of one."""

from __future__ import annotations

from sk_han.rendering.markup import escaped, more, table
from sk_han.rendering.protocols import Reported
from sk_han.rendering.report.page import by_label, report_page
from sk_han.rendering.report.report_documents import names_markup
from sk_han.rendering.report.verdicts import (
    FIGURES,
    MEASURES,
    interval_of,
    named_scores,
    sampled,
    three_decimals,
)

PAIRS = 20
FURTHER = ("Average precision", "Log loss", "Threshold")  # of each label, behind F1
AVERAGES = {
    "micro": "of all labels of all documents together: frequent labels count most",
    "macro": "the mean over labels that a document has or gets: rare ones count as much as others",
    "samples": "the mean over documents",
}


def render_label_report(report: Reported, *, full_page: bool) -> str:
    """Return a report as a page or a fragment; see `MultilabelReport.to_html`."""
    tiles = (
        (name, f"{found['micro_f1']:.3f}", f"micro F1, {interval_of(found, 'micro_f1')}")
        for name, found in named_scores(report, escaped)
    )
    sections = (
        ("scores", "Scores", _scores(report)),
        ("confusion", "What is missed, and what is given instead", _taken(report)),
    )
    return report_page(report, tiles, (), sections, full_page)


def _scores(report: Reported) -> str:
    rows = [
        [
            name,
            *(_with_interval(found, measure) for measure in MEASURES),
            *(three_decimals(found[measure]) for measure in FIGURES),
        ]
        for name, found in named_scores(report, escaped)
    ]
    titles = (*MEASURES.values(), *FIGURES.values())
    head = ("", *(f"{title[:1].upper()}{title[1:]}" for title in titles))
    averages = [
        [
            f'{name}<span class="han-small">{meaning}</span>',
            *(
                _with_interval(report.scores["model"], f"{name}_{measure}")
                for measure in ("precision", "recall", "f1")
            ),
        ]
        for name, meaning in AVERAGES.items()
    ]
    averages_head = ("Average, of the model", "Precision", "Recall", "F1")
    note = escaped(report.baseline_note)
    return (
        f'<div class="han-wide">{table(head, rows)}</div><p class="han-small">{note} Below a '
        f"figure is the interval that holds it in 95 of 100 such samples of {sampled(report)} "
        "(Wilson's; of averages by bootstrap), a dash where samples tell none. It holds macro "
        "figures less often where labels have fewer than five documents. Log loss is the mean of "
        "all labels, in nats. The calibration error is how far the share of documents with a label "
        "is from its probability, on average over ten bins of all probabilities above 0.05.</p>"
        f"{by_label(report.label_scores, *FURTHER)}"
        f'<h3>Averages</h3><div class="han-wide">{table(averages_head, averages)}</div>'
    )


def _with_interval(found: dict[str, float], measure: str) -> str:
    interval = interval_of(found, measure)
    return f'{found[measure]:.3f}<span class="han-small">{interval}</span>'


def _taken(report: Reported) -> str:
    pairs = report.taken_for()
    if not pairs:
        return "<p>All labels of all documents are right.</p>"
    names = {None: "nothing"} | dict(zip(report.labels, names_markup(report.labels), strict=True))
    rows = [[*(names[label] for label in labels), f"{n:,}"] for *labels, n in pairs[:PAIRS]]
    return (
        "<p>In how many documents a label is missed while another one is wrongly given; nothing "
        "stands for documents that miss none, or get none too many.</p>"
        f'<div class="han-wide">{table(("Missed", "Wrongly given", "Documents"), rows)}</div>'
        f"{more(len(pairs) - PAIRS, 'pair')}"
    )
