"""A report as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sk_han.rendering.charts import confusion, history_charts, length_chart, reliability_chart
from sk_han.rendering.html import escaped, fold, isolated, more, page, table
from sk_han.rendering.report_documents import (
    FIGURES,
    MEASURES,
    Bounds,
    by_f1,
    duplicates,
    gain_note,
    has_several,
    interval_of,
    learnt_from_note,
    mistakes,
    named_scores,
    names_markup,
    prefix_of,
    sampled,
    sureness_note,
    suspects,
    three_decimals,
)
from sk_han.rendering.shading import Reported, percent
from sk_han.utils.containers import column_dtype, frame_of
from sk_han.utils.messages import counted, import_optional

if TYPE_CHECKING:
    from pandas import DataFrame


ON_A_PAGE = Bounds(documents=600, in_a_list=20, characters=1500, mistakes=100)


IN_A_NOTEBOOK = Bounds(documents=120, in_a_list=8, characters=400, mistakes=5)


LABELS_OPEN = 12


MOST_LABELS = 100


MEANINGS = {
    "Accuracy": "The share of documents whose label is predicted right. Below it, the interval "
    "that holds it in 95 of 100 such samples of {units}.",
    "Macro F1": "How well each label is found, as the mean over labels, so that a rare label "
    "counts as much as a common one. 1 is perfect.",
    "Log loss": "How little probability the true label gets: 0 is perfect, 0.69 is that of a coin "
    "with two labels. Confident mistakes cost most.",
    "Calibration error": "How far the probability of the predicted label is from the share that "
    "is right, on average over 15 bins (Guo et al., 2017). 0 is perfect, but by chance a perfect "
    "model has about 0.15 on 30 documents and 0.04 on 500.",
    "Precision": "Of the documents predicted so, the share that have this label.",
    "Recall": "Of the documents that have this label, the share predicted so.",
}


def render_report(report: Reported, *, full_page: bool) -> str:
    """Return a report as a page or a fragment; see `Report.to_html`."""
    tiles = [
        (
            name,
            percent(found["accuracy"], 1),
            f"{round(found['accuracy'] * report.n_documents):,} of {report.n_documents:,} right",
        )
        for name, found in named_scores(report, isolated)
    ]
    # What the model does not know it can only take for something else; a note says so.
    mixed = [cell for cell in report.mixed_up() if cell[0] < report.n_classes]
    is_tied = len(mixed) > 1 and mixed[0][2] == mixed[1][2]
    which = "One of the most frequent mistakes" if is_tied else "The most frequent mistake"
    lead = [
        f"{which}: {isolated(report.labels[i])} taken for {isolated(report.labels[j])}, "
        f"{counted(n)}."
        for i, j, n in mixed[:1]
    ]
    sections = _sections(report, bounds_of(full_page))
    return report_page(report, tiles, lead, sections, full_page)


def bounds_of(full_page: bool) -> Bounds:
    """Return how much a page shows, or a notebook."""
    return ON_A_PAGE if full_page else IN_A_NOTEBOOK


def report_page(
    report: Reported,
    tiles: Iterable[tuple[str, str, str]],
    lead: Sequence[str],
    sections: Iterable[tuple[str, str, str]],
    full_page: bool,
) -> str:
    """Return the main figures, what one must know, and sections with links to them.

    A tile is a name, a figure and a note; a section a name, a title and its content.
    """
    sections = [*sections, *_documents(report, bounds_of(full_page))]
    links = "".join(
        f'<a href="#{prefix_of(report)}-{name}">{title}</a>' for name, title, _ in sections
    )
    body = "".join(
        f'<section id="{prefix_of(report)}-{name}"><h2>{title}</h2>{content}</section>'
        for name, title, content in sections
    )
    figures = "".join(
        f'<div class="han-tile{"" if number else " han-first"}"><span class="han-small">{name}'
        f'</span><b>{figure}</b><span class="han-small">{note}</span></div>'
        for number, (name, figure, note) in enumerate(tiles)
    )
    said = " ".join(filter(None, [escaped(gain_note(report)), *lead]))
    listed = "".join(f"<li>{escaped(note)}</li>" for note in report.notes)
    content = (
        f"<h1>Where the model fails</h1><p class='han-small'>{escaped(report.estimator)} on "
        f"{counted(report.n_documents)} of {counted(len(report.labels), 'label')}</p>"
        f'<p>{learnt_from_note(report)}</p><div class="han-tiles">{figures}</div>'
        + (f'<p class="han-lead">{said}</p>' if said else "")
        + (f'<ul class="han-notes">{listed}</ul>' if listed else "")
        + f"<nav>{links}</nav>{body}"
    )
    # A page has one main part, and a notebook or a site has its own.
    main = f"<main>{content}</main>" if full_page else content
    title = f"{escaped(report.estimator)} on {counted(report.n_documents)}"
    return page(main, title, full_page, "report")


def _sections(report: Reported, bounds: Bounds) -> Iterator[tuple[str, str, str]]:
    """Yield name, title and content of the sections that only reports of one label have."""
    yield "scores", "Scores", _scores(report)
    yield "confusion", "Confusion matrix", confusion(report, bounds)
    charts = [("Confidence", reliability_chart(report))]
    if report.by_length:
        charts.append(("Length", length_chart(report)))
    figures = "".join(f"<div><h3>{title}</h3>{chart}</div>" for title, chart in charts)
    named = "Confidence and length" if report.by_length else "Confidence"
    sure = f"<p>{escaped(sureness_note(report))}</p>"
    yield "confidence", named, f'{sure}<div class="han-figures">{figures}</div>'


def _documents(report: Reported, bounds: Bounds) -> Iterator[tuple[str, str, str]]:
    """Yield the sections on training and on documents, which all reports have."""
    history = history_charts(report)
    if history:
        n_epochs = counted(len(report.history), "epoch")
        of_labels = "Losses are sums over the labels. " if has_several(report) else ""
        note = (
            f"<p>{n_epochs} of the network alone; what predicts adds the linear models beside it, "
            f"if there are any. {of_labels}A validation loss that rises while the training loss "
            "falls means that the network memorizes its documents.</p>"
        )
        yield "training", "Training", f'{note}<div class="han-figures">{"".join(history)}</div>'
    yield "mistakes", "The worst mistakes", mistakes(report, bounds)
    title = "Labels that may be marked wrongly"
    if not has_several(report):
        title = "Documents that look mislabelled"
    yield "labels", title, suspects(report, bounds)
    if report.texts is not None or report.duplicates:
        yield "duplicates", "Duplicates", duplicates(report, bounds)


def _scores(report: Reported) -> str:
    rows = []
    for name, found in named_scores(report, isolated):
        interval = f"{100 * found['accuracy_low']:.1f} to {percent(found['accuracy_high'], 1)}"
        cells = [
            name,
            f'{percent(found["accuracy"], 1)}<span class="han-small">{interval}</span>',
            *map(three_decimals, map(found.get, ("macro_f1", "log_loss", "calibration_error"))),
        ]
        rows.append(cells)
    head = ("", "Accuracy", "Macro F1", "Log loss", "Calibration error")
    meanings = "".join(
        f"<dt>{name}</dt><dd>{text.format(units=sampled(report))}</dd>"
        for name, text in MEANINGS.items()
    )
    return (
        f'<div class="han-wide">{table(head, rows)}</div>'
        f'<p class="han-small">{escaped(report.baseline_note)}</p>{by_label(report.class_scores)}'
        + fold("What these numbers mean", f"<dl>{meanings}</dl>", "han-fold")
    )


def by_label(scores: Sequence[Any], *further: str) -> str:
    """Return a table of the scores of each label, with further columns behind F1."""
    found = by_f1(scores)
    names = names_markup(each.label for each in found)
    rows = [
        (name, f"{each.n_documents:,}", *map(three_decimals, each[3:]))
        for name, each in zip(names[:MOST_LABELS], found, strict=False)
    ]
    head = ("Label, the worst first", "Documents", "Precision", "Recall", "F1", *further)
    left_out = more(len(found) - MOST_LABELS, "label")
    markup = f'<div class="han-wide">{table(head, rows)}</div>{left_out}'
    if len(found) > LABELS_OPEN:
        return fold("Scores of each label", markup, "han-fold")
    return f"<h3>Each label</h3>{markup}"


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
        ("scores", "Scores", _label_scores(report)),
        ("confusion", "What is missed, and what is given instead", _taken(report)),
    )
    return report_page(report, tiles, (), sections, full_page)


def _label_scores(report: Reported) -> str:
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


def report_frame(
    report: Reported, what: str, scores: Sequence[Any], confusion: Callable[[Reported], DataFrame]
) -> DataFrame:
    """Return a part of a report as a pandas DataFrame; `scores` are those of each label."""
    if what not in ("documents", "classes", "scores", "confusion"):
        raise ValueError(
            f"what must be 'documents', 'classes', 'scores' or 'confusion'; got {what!r}."
        )
    door = f"{type(report).__name__}.to_frame"
    pandas = import_optional("pandas", None, door)
    if what == "documents":
        return frame_of(document_columns(report), door)
    if what == "classes":
        columns = dict(zip(scores[0]._fields, zip(*scores, strict=True), strict=True))
        return frame_of(columns, door).set_index("label")
    if what == "scores":
        return pandas.DataFrame(report.scores).T
    return confusion(report)


def confusion_frame(report: Reported) -> DataFrame:
    """Return numbers of documents by label and predicted label."""
    import pandas

    dtype = column_dtype(report.labels)
    labels = [
        pandas.Index(report.labels, name=name, dtype=dtype) for name in ("label", "predicted")
    ]
    return pandas.DataFrame(report.confusion, index=labels[0], columns=labels[1])


def taken_frame(report: Reported) -> DataFrame:
    """Return how often a label is missed where another is wrongly given."""
    pairs = report.taken_for()
    names = ("missed", "given", "n_documents")
    columns = {name: [pair[i] for pair in pairs] for i, name in enumerate(names)}
    return frame_of(columns, f"{type(report).__name__}.to_frame")


def document_columns(report: Reported) -> dict[str, list[Any]]:
    """Return columns of all documents."""
    rows, several = range(report.n_documents), report.targets.ndim == 2
    suspects = set((report.suspects[:, 0] if several else report.suspects).tolist())
    columns: dict[str, list[Any]] = {
        "labels" if several else "label": [report.marked(row) for row in rows],
        "predicted": [report.answer(row) for row in rows],
    }
    if not several:
        columns["confidence"] = report.confidence.tolist()
    columns["right"] = report.right.tolist()
    columns["looks_mislabelled"] = [row in suspects for row in rows]
    if report.n_words is not None:
        columns["n_words"] = report.n_words.tolist()
    if report.baseline is not None and not several:
        columns["baseline"] = [report.labels[i] for i in report.baseline.argmax(axis=1).tolist()]
    if report.groups is not None:
        columns["group"] = report.groups.tolist()
    if report.texts is not None:
        columns["text"] = list(report.texts)
    return columns
