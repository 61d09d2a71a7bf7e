"""The summary of a fit as lines of text and as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sk_han.rendering.facts import fact_lines, facts_table
from sk_han.rendering.markup import escaped, page
from sk_han.rendering.numbers import counted, percent
from sk_han.utils.progress import duration

__all__ = [
    "fit_summary_html",
    "fit_summary_text",
    "training_summary_html",
    "training_summary_text",
]


class Trained(Protocol):
    """What the training of a network has come to."""

    @property
    def unit(self) -> str: ...
    @property
    def n_trained(self) -> int: ...
    @property
    def n_scored(self) -> int: ...
    @property
    def n_epochs(self) -> int: ...
    @property
    def kept_epoch(self) -> int | None: ...
    @property
    def ended(self) -> str: ...
    @property
    def accuracy(self) -> float | None: ...
    @property
    def seconds(self) -> Mapping[str, float]: ...
    @property
    def total_seconds(self) -> float: ...


class Fitted(Protocol):
    """What a fit has come to."""

    @property
    def n_documents(self) -> int: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def n_conflicting(self) -> int: ...
    @property
    def n_epochs(self) -> int: ...
    @property
    def kept_epoch(self) -> int | None: ...
    @property
    def ended(self) -> str: ...
    @property
    def n_scored(self) -> int: ...
    @property
    def accuracy(self) -> float | None: ...
    @property
    def loss(self) -> float | None: ...
    @property
    def network_accuracy(self) -> float | None: ...
    @property
    def linear_accuracy(self) -> float | None: ...
    @property
    def majority_accuracy(self) -> float | None: ...
    @property
    def shares(self) -> Mapping[str, float]: ...
    @property
    def seconds(self) -> Mapping[str, float]: ...
    @property
    def total_seconds(self) -> float: ...


def fit_summary_text(summary: Fitted) -> str:
    """Return a title and a line for each fact."""
    return "\n".join([_title(summary), *(f"  {line}" for line in fact_lines(_facts(summary)))])


def fit_summary_html(summary: Fitted, *, full_page: bool) -> str:
    """Return the same as HTML."""
    title = _title(summary)
    body = f'<p class="han-label">{escaped(title)}</p>{facts_table(_facts(summary))}'
    return page(body, escaped(title), full_page)


def training_summary_text(summary: Trained) -> str:
    """Return a title and a line for each fact."""
    title, facts = _of_training(summary)
    return "\n".join([title, *(f"  {line}" for line in fact_lines(facts))])


def training_summary_html(summary: Trained, *, full_page: bool) -> str:
    """Return the same as HTML."""
    title, facts = _of_training(summary)
    body = f'<p class="han-label">{escaped(title)}</p>{facts_table(facts)}'
    return page(body, escaped(title), full_page)


def _of_training(summary: Trained) -> tuple[str, list[tuple[str, str]]]:
    """Return a title and the facts."""
    unit = summary.unit
    title = f"Fitted to {counted(summary.n_trained, unit)} in {duration(summary.total_seconds)}"
    accuracy = f"not measured: no {unit} was held out"
    if summary.accuracy is not None:
        held_out = counted(summary.n_scored, f"held-out {unit}")
        accuracy = f"{summary.accuracy:.3f} on the words of {held_out}"
    training, time = _training(summary, unit), _time(summary)
    return title, [("accuracy", accuracy), ("training", training), ("time", time)]


def _title(summary: Fitted) -> str:
    classes = "class" if summary.n_classes == 1 else "classes"
    portion = "a portion of " if summary.ended == "one portion" else ""
    return (
        f"Fitted to {portion}{counted(summary.n_documents)} of {summary.n_classes:,} {classes} in "
        f"{duration(summary.total_seconds)}"
    )


def _facts(summary: Fitted) -> list[tuple[str, str]]:
    facts = []
    if summary.accuracy is None:
        facts.append(("accuracy", "not measured: no document was held out"))
    else:
        facts += [
            (
                "accuracy",
                f"{summary.accuracy:.3f} on {counted(summary.n_scored, 'held-out document')}",
            ),
            ("loss", f"{summary.loss:.3f} on the same"),
        ]
        alone = [("network", summary.network_accuracy), ("linear", summary.linear_accuracy)]
        named = [f"{name} {score:.3f}" for name, score in alone if score is not None]
        if len(named) > 1:
            facts.append(("each alone", ", ".join(named)))
        facts.append(("most frequent class", f"{summary.majority_accuracy:.3f}"))
    if len(summary.shares) > 1:
        shares = [f"{name} {percent(share)}" for name, share in summary.shares.items()]
        facts.append(("share of each part", ", ".join(shares)))
    facts.append(("training", _training(summary, "document")))
    if summary.n_conflicting:
        facts.append(("same text, other label", counted(summary.n_conflicting)))
    facts.append(("time", _time(summary)))
    return facts


def _time(summary: Fitted | Trained) -> str:
    other = max(0.0, summary.total_seconds - sum(summary.seconds.values()))
    stages = {**summary.seconds, "other": other}
    return ", ".join(f"{name} {duration(seconds)}" for name, seconds in stages.items())


def _training(summary: Fitted | Trained, unit: str) -> str:
    if summary.ended == "one portion":
        return f"{counted(summary.n_epochs, 'epoch')} over this portion"
    why = {
        "all epochs": "all that were planned",
        "no improvement": f"ended since the held-out {unit}s showed no improvement",
        "a callback": "ended by a callback",
    }[summary.ended]
    kept = "the last one" if summary.kept_epoch is None else f"epoch {summary.kept_epoch}"
    return f"{counted(summary.n_epochs, 'epoch')}, {why}; the weights of {kept} were kept"
