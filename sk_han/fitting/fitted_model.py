"""The result of a fit, and its state as arrays and plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sk_han.documents.repeated import TextHashes
from sk_han.inspection.results.fit_summary import FitSummary
from sk_han.parts import PARTS, Part, Pool
from sk_han.parts.trained_network import TrainedNetwork
from sk_han.sentence_vectors.training import TrainedSentenceNetwork
from sk_han.serving.stored_model import classifier_schema
from sk_han.storage.schema import check
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.training.fitted_state import device_of, restored_training, restoring

NETWORKS: dict[str, type[Part]] = {
    TrainedNetwork.kind: TrainedNetwork,
    TrainedSentenceNetwork.kind: TrainedSentenceNetwork,
}


@dataclass(frozen=True, eq=False)
class FittedModel:
    """The fitted attributes of a classifier, without the underscore after their names."""

    pool: Pool
    tokenizer: HierarchicalTokenizer | None
    vocabulary_size: int
    encoder: str | None
    device: str
    history: list[dict[str, float]]
    n_iter: int
    best_epoch: int | None = None
    best_score: float | None = None
    fit_summary: FitSummary | None = None
    text_hashes: TextHashes | None = None

    @classmethod
    def of(cls, estimator: Any) -> FittedModel:
        """Return the fitted attributes of an estimator."""
        return cls(**{field.name: getattr(estimator, f"{field.name}_") for field in fields(cls)})

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of an estimator by name."""
        return {f"{field.name}_": getattr(self, field.name) for field in fields(self)}

    def to_state(self) -> dict[str, Any]:
        """Return the state; see `HANClassifier.to_state`."""
        return {
            **self.pool.to_state(),
            "tokenizer": self.tokenizer,
            "vocabulary_size": self.vocabulary_size,
            "encoder": self.encoder,
            "history": self.history,
            "best_epoch": self.best_epoch,
            "best_score": self.best_score,
            "device": self.device,
            "fit_summary": None if self.fit_summary is None else self.fit_summary.to_dict(),
            "text_hashes": None if self.text_hashes is None else self.text_hashes._asdict(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> FittedModel:
        """Restore a model; raise a ModelFormatError if an entry is invalid."""
        with restoring("HANClassifier"):
            check(classifier_schema(), state)
            pool = Pool.from_state(state, PARTS | NETWORKS, device_of(state))
        encoder, summary, hashes = (
            state[name] for name in ("encoder", "fit_summary", "text_hashes")
        )
        training = {
            name.removesuffix("_"): value for name, value in restored_training(state).items()
        }
        return cls(
            pool=pool,
            tokenizer=state["tokenizer"],
            vocabulary_size=state["vocabulary_size"],
            encoder=encoder,
            fit_summary=None if summary is None else FitSummary(**summary),
            text_hashes=None if hashes is None else TextHashes(**hashes),
            **training,
        )
