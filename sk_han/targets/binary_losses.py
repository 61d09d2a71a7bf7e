"""The loss of several labels as PyTorch computes it."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits


class BinaryLosses(nn.Module):
    """The sum of the binary cross-entropies of a document's labels.

    Documents with a label and without it may have weights, (L,) each. `label_smoothing` is the
    share of the truth that is divided among both sides (Szegedy et al., 2016).
    """

    positive: Tensor | None
    negative: Tensor | None

    def __init__(
        self,
        positive: Tensor | None = None,
        negative: Tensor | None = None,
        reduction: str = "none",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        if reduction != "none":
            raise ValueError(f"reduction must be 'none'; got {reduction!r}.")
        # Of this fit alone, so no state of a net.
        self.register_buffer("positive", positive, persistent=False)
        self.register_buffer("negative", negative, persistent=False)
        self.label_smoothing = label_smoothing

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each document, (D,), of logits (D, L) and truths from 0 to 1."""
        truths = targets.to(logits)
        if self.label_smoothing:
            truths = truths * (1 - self.label_smoothing) + self.label_smoothing / 2
        weights = None
        if self.positive is not None and self.negative is not None:
            weights = truths * self.positive + (1 - truths) * self.negative
        losses = binary_cross_entropy_with_logits(logits, truths, weights, reduction="none")
        return losses.sum(dim=1)
