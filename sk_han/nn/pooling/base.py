"""The interface of all poolings."""

from __future__ import annotations

from torch import Tensor, nn

from sk_han.nn.ragged.segments import segment_numbers


class Pooling(nn.Module):
    """Base class of poolings, which compute one vector from the states of each sequence.

    Attributes
    ----------
    output_size : int
        Size of a pooled vector.
    across_sequences : bool
        Whether the weights of a sequence depend on other sequences of its document, so that all
        must be pooled at once.
    """

    output_size: int
    across_sequences = False
    has_kernels = False  # compiled ones, wherever it computes

    def pool(
        self, states: Tensor, lengths: Tensor, sequences_per_document: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences, without padding.

        Parameters
        ----------
        states : Tensor, shape (T, H)
        lengths : Tensor of int64, shape (N,)
            Number of states of each sequence, together T.
        sequences_per_document : Tensor of int64, shape (D,), optional
            Together N. Only poolings whose `across_sequences` is True read it.

        Returns
        -------
        pooled : Tensor, shape (N, output_size)
            Zero for a sequence without states.
        weights : Tensor, shape (T, R)
            Share of each state in each of R results side by side; those of a sequence sum to 1.
        """
        raise NotImplementedError

    def attributions(
        self, states: Tensor, weights: Tensor, gradient: Tensor, lengths: Tensor
    ) -> Tensor:
        """Compute the contribution of each state to a linear score of the pooled vectors.

        This implementation is for weighted sums of the states:
        ``sum_r weights[t, r] * states[t] . gradient[n, r]`` for state t of sequence n.

        Parameters
        ----------
        states, lengths : Tensor
            As of `pool`.
        weights : Tensor, shape (T, R)
            As `pool` returned them; held fixed.
        gradient : Tensor, shape (N, output_size)
            Of the score, with respect to the pooled vectors.

        Returns
        -------
        Tensor, shape (T,)
            Those of a sequence sum to ``pooled . gradient``.
        """
        segment = segment_numbers(lengths).to(states.device)
        by_result = gradient.view(len(gradient), weights.shape[1], states.shape[1])[segment]
        return (weights * (by_result @ states.unsqueeze(2)).squeeze(2)).sum(1)  # (T, R) -> (T,)
