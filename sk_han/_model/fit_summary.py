"""Schema of the fit summary in the fitted state; `sk_han.inspection.FitSummary` renders it."""

from __future__ import annotations

from numbers import Integral, Real

from sk_han._options import Choice, InstanceOf, Range
from sk_han._storage.schema import ByName, Field, Kind, ListOf, Schema

# Why training ended: the value that is stored, and its wording in the summary.
ENDS = {
    "all epochs": "max_epochs reached",
    "two cycles": "a second cycle included",
    "no improvement": "stopped early because held-out {unit}s no longer improved",
    "all learnt": "stopped early because the training {unit}s are learnt by heart",
    "a callback": "stopped by a callback",
    "the time": "stopped when the time was over",
    "an interrupt": "stopped by Ctrl-C",
    "one portion": "on this portion",
}
# Scores on held-out documents; they are None if no documents were held out.
SCORES = (
    *("accuracy", "loss", "network_accuracy", "linear_accuracy", "majority_accuracy", "macro_f1"),
    *("worst_class", "worst_recall", "n_worst"),
    *("r2", "mean_absolute_error", "network_r2", "linear_r2"),  # for numbers as targets
)
# Entries that were added to format 4, which older files of it lack.
ADDED = ("columns", "is_number", "cuts", *SCORES[-4:])

_COUNT, _NUMBER = Range(Integral, 0), Range(Real, 0)
_SHARE = Range(Real, -float("inf"))
_KINDS: dict[str, Kind] = {
    "worst_class": InstanceOf(str),
    **dict.fromkeys(("r2", "network_r2", "linear_r2"), _SHARE),
}
_TRAINING = (
    Field("n_epochs", _COUNT),
    Field("kept_epoch", _COUNT, optional=True),
    Field("ended", Choice(tuple(ENDS))),
    Field("n_scored", _COUNT),
    Field("seconds", ByName(_NUMBER)),
    Field("total_seconds", _NUMBER),
)
TRAINING_SUMMARY = Schema(
    (
        Field("unit", InstanceOf(str)),
        Field("n_trained", _COUNT),
        Field("accuracy", _NUMBER, optional=True),
        *_TRAINING,
    )
)
FIT_SUMMARY = Schema(
    (
        *(Field(name, _COUNT) for name in ("n_documents", "n_classes", "n_conflicting")),
        *(Field(s, _KINDS.get(s, _NUMBER), True) for s in SCORES),
        Field("shares", ByName(_NUMBER)),
        Field("several_labels", InstanceOf(bool)),
        Field("is_number", InstanceOf(bool), optional=True),
        Field("columns", ByName(InstanceOf(str)), optional=True),
        Field("cuts", ListOf(InstanceOf(str)), optional=True),
        *_TRAINING,
    )
)
