"""What the training of a network alone has come to: read-only data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sk_han.inspection.results.fit_summary import summary_of
from sk_han.inspection.results.result import Result
from sk_han.rendering.facts import facts_page, facts_text
from sk_han.rendering.fit_facts import training_facts
from sk_han.rendering.matplotlib_bars import plot_bars
from sk_han.utils.progress import duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class TrainingSummary(Result):
    """What a fit of a network without other parts has come to; its attribute ``fit_summary_``.

    ``print`` shows it as text, a notebook as a table.

    Parameters
    ----------
    unit : str
        What was learnt from, such as "sentence".
    n_trained : int
        Units that the network has learnt from.
    n_scored : int
        Held-out units.
    n_epochs : int
    kept_epoch : int or None
        The epoch whose weights were kept, from 1; None for the last one, without held-out units.
    ended : {"all epochs", "no improvement", "a callback", "the time", "an interrupt"}
        Why training ended.
    accuracy : float or None
        Of the words of held-out units, in the kept epoch. It has chosen this epoch, and is a little
        too good.
    seconds : mapping of str to float
        Of each stage, by the clock.
    total_seconds : float
        Of all of it.
    """

    unit: str
    n_trained: int
    n_scored: int
    n_epochs: int
    kept_epoch: int | None
    ended: str
    accuracy: float | None
    seconds: Mapping[str, float]
    total_seconds: float

    @property
    def in_short(self) -> str:
        """What matters most, as a phrase: units, accuracy, seconds."""
        units = f"{self.n_trained:,} {self.unit}{'' if self.n_trained == 1 else 's'}"
        score = "" if self.accuracy is None else f"held-out accuracy {self.accuracy:.3f}, "
        return f"{units}, {score}{duration(self.total_seconds)}"

    @classmethod
    def from_dict(cls, values: Any) -> TrainingSummary:
        """Make a summary of what `to_dict` returned.

        Raises
        ------
        ValueError
            If a value is missing, of another kind, or one too many.
        """
        return summary_of(cls, values)

    def to_text(self) -> str:
        """Return the summary as lines of text."""
        return facts_text(*training_facts(self))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the seconds of each stage as bars."""
        return plot_bars(self.seconds, "seconds", ax, "TrainingSummary.plot")

    def _markup(self, *, full_page: bool) -> str:
        return facts_page(*training_facts(self), full_page)

    def __repr__(self) -> str:
        return f"TrainingSummary({self.in_short})"
