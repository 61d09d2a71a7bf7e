"""The course of a training as a matplotlib figure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from sk_han._optional import import_optional
from sk_han.rendering.style import theme_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_history"]


def plot_history(
    estimator: Any,
    ax: Axes | None = None,
) -> Axes:
    """Draw losses, and on the right scale validation scores, by epoch.

    Parameters
    ----------
    estimator : HANClassifier, Pipeline or sequence of mapping
        A fitted classifier, a fitted Pipeline that ends in one, or what ``history_`` holds: a
        mapping for each epoch with `epoch`, `train_loss` and, where there are any, `valid_loss`
        and scores, whose names start with ``valid_``.
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
        If the estimator keeps no history.
    ValueError
        If the history has no epoch.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sk_han.rendering import plot_history
    >>> history = [{"epoch": 1, "train_loss": 0.7}, {"epoch": 2, "train_loss": 0.5}]
    >>> ax = plot_history(history, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['training loss']
    """
    pyplot = import_optional("matplotlib.pyplot", "plot", "plot_history")
    from matplotlib.ticker import MaxNLocator

    history = _history_of(estimator)
    if ax is None:
        _, ax = pyplot.subplots()
    theme = theme_of(ax)
    lines = _curve(ax, history, "train_loss", "training loss", theme.toward[1], "-")
    lines += _curve(ax, history, "valid_loss", "validation loss", theme.against[1], "--")
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    names = dict.fromkeys(name for epoch in history for name in epoch)
    scores = [name for name in names if name.startswith("valid_") and name != "valid_loss"]
    if scores:
        twin = ax.twinx()
        twin.set_ylabel("score")
        for name, style in zip(scores, itertools.cycle((":", "-.")), strict=False):
            label = name.replace("valid_", "validation ")
            lines += _curve(twin, history, name, label, theme.attention[1], style)
    ax.legend(
        handles=lines,
        frameon=False,
        ncols=min(3, len(lines)),
        loc="lower center",
        bbox_to_anchor=(0.5, 1),
    )
    return ax


def _history_of(estimator: Any) -> Any:
    if isinstance(estimator, Sequence) and not isinstance(estimator, str):
        history: Any = estimator
    else:
        # By its interface, so that drawing a stored history imports no estimator.
        last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
        if not hasattr(last, "history_"):
            _refuse(last)
        history = last.history_
    if not len(history):
        raise ValueError("history has no epoch to draw; fit the estimator first.")
    return history


def _refuse(estimator: Any) -> NoReturn:
    if hasattr(estimator, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
    raise TypeError(
        "plot_history needs a fitted HANClassifier, a Pipeline that ends in one, or its "
        f"history_; got {type(estimator).__name__}. After a search, pass search.best_estimator_."
    )


def _curve(
    ax: Axes, history: Sequence[Mapping[str, Any]], key: str, label: str, color: str, style: str
) -> list[Any]:
    points = [(epoch["epoch"], epoch[key]) for epoch in history if epoch.get(key) is not None]
    if not points:
        return []
    return ax.plot(*zip(*points, strict=True), style, marker="o", color=color, label=label)
