"""The progress bar of training."""

from __future__ import annotations

import sys
from typing import Any

from skorch.callbacks import Callback

from sk_han.kernels.loading import compile_kernels

__all__ = ["TrainingProgress"]


class TrainingProgress(Callback):
    """One bar over all epochs: training loss, validation score and remaining time.

    Parameters
    ----------
    n_steps : int
        Number of training batches of all epochs together.
    """

    def __init__(self, n_steps: int) -> None:
        self.n_steps = n_steps

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Open the bar."""
        # tqdm comes with skorch; its `auto` chooses the bar for a terminal or a notebook.
        from tqdm.auto import tqdm

        seconds = compile_kernels() if net.device == "cpu" else 0.0
        if seconds > 1:
            tqdm.write(
                f"Compiled the kernels in {seconds:.1f} s; later processes read them from a cache.",
                file=sys.stderr,
            )
        self.bar_ = tqdm(total=self.n_steps, desc="epoch 1", unit="batch", dynamic_ncols=True)
        self.validation_: dict[str, str] = {}

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Show the number of the epoch."""
        self.bar_.set_description(f"epoch {len(net.history)}", refresh=False)

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """Advance by one training batch."""
        if training:
            loss = net.history[-1, "batches", -1, "train_loss"]
            self.bar_.set_postfix(loss=f"{loss:.3f}", **self.validation_, refresh=False)
            self.bar_.update()

    def state_dict(self) -> dict[str, Any]:
        """Return where the bar is, for a checkpoint."""
        return {"n_steps": self.bar_.n}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where the bar of a checkpoint was."""
        self.bar_.update(int(state["n_steps"]))

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Show the scores of the epoch on the held-out documents."""
        epoch = net.history[-1]
        names = ["valid_loss", *(net.measures or {})]
        self.validation_ = {name: f"{epoch[name]:.3f}" for name in names if name in epoch}
        self.bar_.set_postfix(loss=f"{epoch['train_loss']:.3f}", **self.validation_)

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        """Close the bar."""
        self.bar_.close()
