"""Figures of matplotlib: an explanation, the course of a training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sk_han.rendering.explanation_text import NO_WORDS, comparison, named, probabilities_of
from sk_han.rendering.shading import Explained, Shading, shading_of, themed_axes
from sk_han.utils.messages import in_one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_SENTENCES = 20


LONGEST = 50  # characters


CLASSES_SHOWN = 3


INCHES_PER_SENTENCE = 0.3


def plot_explanation(explanation: Explained, ax: Axes | None = None) -> Axes:
    """Draw the contribution of each sentence as a bar beside the beginning of its text.

    Of a long document, the 20 sentences of the largest contributions are drawn. Words are shaded on
    the page of an explanation (`DocumentExplanation.to_html`), not in a figure.

    Parameters
    ----------
    explanation : Explained
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    """
    shading = shading_of(explanation, "contributions")
    order = np.argsort(-np.abs(shading.sentences), kind="stable")
    shown = np.sort(order[:MOST_SENTENCES])
    size = 8, 1.2 + INCHES_PER_SENTENCE * max(len(shown), 1)
    ax, theme = themed_axes(ax, "DocumentExplanation.plot", size)
    probabilities = ", ".join(probabilities_of(explanation, CLASSES_SHOWN, None))
    title = f"predicted {named(explanation.answer, in_one_line)} ({probabilities})"
    ax.set_title(title, size="medium", parse_math=False)
    values = shading.sentences[shown]
    colors = [getattr(theme, shading.scale(value))[1] for value in values]
    bars = ax.barh(np.arange(len(shown)), values, color=colors, height=0.7)
    ax.bar_label(bars, [shading.written(i) for i in shown], padding=3, size="small")
    sentences = explanation.sentences
    beginnings = [_beginning(sentences[i]) for i in shown]
    ax.set_yticks(np.arange(len(shown)), beginnings, size="small", parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.margins(x=0.15)
    ax.axvline(0, color=theme.muted, linewidth=0.8)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel(_meaning(explanation, shading, len(shown)), parse_math=False)
    return ax


def _beginning(sentence: str) -> str:
    text = in_one_line(sentence)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _meaning(explanation: Explained, shading: Shading, n_shown: int) -> str:
    """Return what the bars are, and how many sentences are left out."""
    n = len(shading.sentences)
    if not n:
        return NO_WORDS
    if explanation.method == "random":
        meaning = "random numbers, a control"
    elif shading.signed:
        meaning = f"contribution to the log-odds of {comparison(explanation, in_one_line)}"
    else:
        meaning = "attention"
    return meaning if n == n_shown else f"{meaning}\n(the strongest {n_shown} of {n:,} sentences)"


LOSSES = ("train_loss", "valid_loss")


SCORE_MARKERS = "s^Dv<>P"


def plot_history(estimator: Any, ax: Axes | None = None) -> Axes:
    """Draw losses and, on a second scale, validation scores by epoch.

    Parameters
    ----------
    estimator : HANClassifier, Pipeline or sequence of mapping
        A fitted classifier, a fitted Pipeline that ends in one, or what ``history_`` holds: a
        mapping for each epoch with `epoch`, `train_loss` and, where there are any, `valid_loss`
        and scores, whose names start with ``valid_``. Without `epoch`, epochs are counted from 1.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the losses; scores have a twin of them.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If the estimator keeps no history, or an epoch is no mapping.
    ValueError
        If the history has no epoch, or no loss and no score to draw.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sk_han.rendering import plot_history
    >>> history = [{"epoch": 1, "train_loss": 0.7}, {"epoch": 2, "train_loss": 0.5}]
    >>> ax = plot_history(history, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['training loss']
    """
    history = _checked(_history_of(estimator))
    names = _names(history)
    ax, theme = themed_axes(ax, "plot_history")
    from matplotlib.ticker import MaxNLocator

    lines = _curve(ax, history, "train_loss", "training loss", theme.toward[1], "o--")
    lines += _curve(ax, history, "valid_loss", "validation loss", theme.against[1], "o-")
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    scores = [name for name in names if name not in LOSSES]
    if scores:
        twin = ax.twinx()
        twin.set_ylabel("score")
        for i, name in enumerate(scores):
            label = name.replace("valid_", "validation ", 1)
            # The first two colours of most style sheets are like those of the losses.
            marker = SCORE_MARKERS[i % len(SCORE_MARKERS)]
            lines += _curve(twin, history, name, label, f"C{i + 2}", f"{marker}:")
    labels = [in_one_line(line.get_label()) for line in lines]
    columns = min(3, len(lines))
    legend = ax.legend(
        lines, labels, frameon=False, ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1)
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return ax


def _history_of(estimator: Any) -> Any:
    if isinstance(estimator, Sequence) and not isinstance(estimator, str):
        return estimator
    # Checked by attribute, so that drawing a stored history imports no estimator.
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if hasattr(last, "history_"):
        return last.history_
    if hasattr(last, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(last)
    raise TypeError(
        "plot_history needs a fitted HANClassifier, a Pipeline that ends in one, or its "
        f"history_; got {type(last).__name__}. After a search, pass search.best_estimator_."
    )


def _checked(history: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Check a history, and number epochs that have no number."""
    if not len(history):
        raise ValueError("history has no epoch to draw; fit the estimator first.")
    for i, epoch in enumerate(history):
        if not isinstance(epoch, Mapping):
            raise TypeError(
                "history must hold a mapping for each epoch, as history_ of a fitted HANClassifier "
                f"does; history[{i}] is {epoch!r}, of type {type(epoch).__name__}."
            )
    return [{"epoch": i, **epoch} for i, epoch in enumerate(history, start=1)]


def _names(history: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of losses and scores, in the order of their first occurrence."""
    names = dict.fromkeys(
        name for epoch in history for name, value in epoch.items() if value is not None
    )
    drawable = [name for name in names if name == "train_loss" or name.startswith("valid_")]
    if not drawable:
        raise ValueError(
            "history has nothing to draw: its epochs need train_loss, valid_loss or scores whose "
            f"names start with valid_; got the keys {list(names)}."
        )
    return drawable


def _curve(
    ax: Axes, history: Sequence[Mapping[str, Any]], key: str, label: str, color: str, style: str
) -> list[Any]:
    points = [(epoch["epoch"], epoch[key]) for epoch in history if epoch.get(key) is not None]
    if not points:
        return []
    return ax.plot(*zip(*points, strict=True), style, color=color, label=label)
