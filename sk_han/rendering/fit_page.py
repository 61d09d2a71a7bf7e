"""What is shown of a fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sk_han.rendering.html import escaped, page
from sk_han.rendering.shading import percent
from sk_han.utils.messages import counted, in_one_line
from sk_han.utils.progress import duration

Facts = Sequence[tuple[str, str]]


def facts_text(title: str, facts: Facts) -> str:
    """Return a title and a line for each fact."""
    return "\n".join([title, *(f"  {line}" for line in fact_lines(facts))])


def facts_page(title: str, facts: Facts, full_page: bool) -> str:
    """Return a title and a table of facts as a page or a fragment of HTML."""
    title = escaped(title)
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th><td><bdi>{escaped(value)}</bdi></td></tr>'
        for name, value in facts
    )
    body = f'<table class="han-facts"><tbody>{rows}</tbody></table>'
    return page(f'<p class="han-label">{title}</p>{body}', title, full_page)


def fact_lines(facts: Facts) -> list[str]:
    """Return a line for each name with its value; the values stand below each other."""
    width = max((len(name) for name, _ in facts), default=0)
    return [
        f"{name:<{width}}  {in_one_line(value)}".rstrip().replace("\N{NO-BREAK SPACE}", " ")
        for name, value in facts
    ]


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table as lines: the first column starts at the left, the others end at the right."""
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in cells
    ]


# Why a fit has ended, in words.
ENDS = {
    "all epochs": "all that were planned",
    "no improvement": "ended since the held-out {unit}s showed no improvement",
    "a callback": "ended by a callback",
    "the time": "ended by StopAfter",
    "an interrupt": "ended by Ctrl-C",
    "one portion": "over this portion",
}


def training_facts(summary: Any) -> tuple[str, Facts]:
    """Return title and facts of a `TrainingSummary`."""
    unit = summary.unit
    accuracy = f"not measured: no {unit} was held out"
    if summary.accuracy is not None:
        held_out = counted(summary.n_scored, f"held-out {unit}")
        accuracy = f"{summary.accuracy:.3f} on the words of {held_out}"
    return (
        f"Fitted to {counted(summary.n_trained, unit)} in {duration(summary.total_seconds)}",
        [
            ("accuracy", accuracy),
            ("training", _training(summary, unit)),
            ("time", _time(summary)),
        ],
    )


def fit_facts(summary: Any) -> tuple[str, Facts]:
    """Return title and facts of a `FitSummary`."""
    classes = counted(summary.n_classes, "label" if summary.several_labels else "class")
    portion = "a portion of " if summary.ended == "one portion" else ""
    title = (
        f"Fitted to {portion}{counted(summary.n_documents)} of {classes} in "
        f"{duration(summary.total_seconds)}"
    )
    facts = []
    if summary.accuracy is None:
        facts.append(
            ("accuracy", "not measured: no held-out document is known to be new to the model")
        )
    else:
        held_out = counted(summary.n_scored, "held-out document")
        measure = "all labels right" if summary.several_labels else "accuracy"
        facts.append((measure, f"{summary.accuracy:.3f} on {held_out}"))
        of_all = ", the sum of all labels" if summary.several_labels else ""
        facts.append(("loss", f"{summary.loss:.3f} on the same{of_all}"))
        facts += _by_class(summary)
        alone = [("network", summary.network_accuracy), ("linear", summary.linear_accuracy)]
        named = [f"{name} {score:.3f}" for name, score in alone if score is not None]
        if len(named) > 1:
            decided = ", labels from one half on" if summary.several_labels else ""
            facts.append(("each alone", f"{', '.join(named)}{decided}"))
        guess = "most frequent labels" if summary.several_labels else "most frequent class"
        facts.append((guess, f"{summary.majority_accuracy:.3f}"))
    if len(summary.shares) > 1:
        shares = [f"{name} {percent(share)}" for name, share in summary.shares.items()]
        facts.append(("share of each part", ", ".join(shares)))
    facts.append(("training", _training(summary, "document")))
    if summary.n_conflicting:
        other = "labels" if summary.several_labels else "label"
        facts.append((f"same text, other {other}", counted(summary.n_conflicting)))
    facts.append(("time", _time(summary)))
    return title, facts


def _by_class(summary: Any) -> Facts:
    """Return macro F1 and the class that is found least, with what would find more of it."""
    if summary.macro_f1 is None:
        return []
    facts = [("macro F1", f"{summary.macro_f1:.3f}")]
    if summary.worst_class is not None:
        worst = (
            f"{in_one_line(summary.worst_class)}: {summary.worst_recall:.3f} of {summary.n_worst:,}"
        )
        is_rare = summary.n_worst * summary.n_classes < summary.n_scored / 2
        if is_rare and summary.worst_recall < 0.5:
            repair = "a lower threshold" if summary.several_labels else "a larger class_weight"
            worst += f"; {repair} finds more of it, and more that is not"
        facts.append(("lowest recall", worst))
    return facts


def _time(summary: Any) -> str:
    other = max(0.0, summary.total_seconds - sum(summary.seconds.values()))
    stages = {**summary.seconds, "other": other}
    return ", ".join(f"{name} {duration(seconds)}" for name, seconds in stages.items())


def _training(summary: Any, unit: str) -> str:
    epochs = counted(summary.n_epochs, "epoch")
    if summary.ended == "one portion":
        return f"{epochs} {ENDS[summary.ended]}"
    why = ENDS[summary.ended].format(unit=unit)
    kept = "the last one" if summary.kept_epoch is None else f"epoch {summary.kept_epoch}"
    return f"{epochs}, {why}; the weights of {kept} were kept"
