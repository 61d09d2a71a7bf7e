"""The fitted state of estimators as arrays and plain values, and back."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sk_han.documents import DocumentArray, EncoderFingerprint
from sk_han.inspection.results.fit_summary import FitSummary
from sk_han.parts.ngrams.stored import stored_models
from sk_han.sentence_vectors.training import sentence_net_from_state
from sk_han.serving.classifier_state import CLASSIFIER
from sk_han.storage.schema import check
from sk_han.training.devices import available_devices
from sk_han.training.net_state import net_from_state, net_to_state
from sk_han.utils.compat import VisualBlock, shown_as_estimator
from sk_han.utils.model_format import ModelFormatError, checked_state
from sk_han.validation.documents import check_sentence_vectors, within_vocabulary

if TYPE_CHECKING:
    from sk_han.classifier import HANClassifier

__all__ = [
    "StatefulEstimator",
    "attributes_of",
    "device_of",
    "is_fitted",
    "known_documents",
    "replace_attributes",
    "restored_training",
    "restoring",
    "snapshot_of",
    "state_of",
    "training_state",
]

_Estimator = TypeVar("_Estimator")


class StatefulEstimator(BaseEstimator):
    """Base of estimators whose fitted state is pickled as arrays and plain types, for any device.

    An estimator annotates its fitted attributes, of which `net_` is one, and has the methods
    `to_state` and `from_state`, which store and restore them.

    Attributes
    ----------
    _newest_format : int
        Version of the state in a pickle, increased when an older release cannot read it.
    """

    _newest_format: ClassVar[int]

    @shown_as_estimator
    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the parameters and, in a comment of Python, what a fit has come to."""
        text: str = super().__repr__(N_CHAR_MAX)
        summary = vars(self).get("fit_summary_")
        return text if summary is None else f"{text}  # fitted: {summary.in_short}"

    def _sk_visual_block_(self) -> VisualBlock:
        """Return the box of scikit-learn's diagram, with what a fit has come to below the name."""
        summary = vars(self).get("fit_summary_")
        block = VisualBlock("single", self, names=type(self).__name__, name_details=str(self))
        block.name_caption = None if summary is None else summary.in_short
        return block

    def __getstate__(self) -> dict[str, Any]:
        """Return parameters and fitted state as arrays and plain types, for any device."""
        state: dict[str, Any] = {**super().__getstate__(), "_state_format": self._newest_format}
        if "net_" in state:
            for name in _fitted_names(type(self)):
                state.pop(name, None)
            state["_fitted"] = self.to_state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = checked_state(state, self, newest=self._newest_format)
        fitted = state.pop("_fitted", None)
        super().__setstate__(state)
        if fitted is not None:
            self.from_state(fitted)


def is_fitted(classifier: HANClassifier) -> bool:
    """Whether a classifier has fitted attributes.

    Raises
    ------
    NotFittedError
        If it has none because it was fitted as one of several processes, and not as the first.
    """
    rank = vars(classifier).get("_rank")
    if rank is not None:
        raise NotFittedError(
            f"This {type(classifier).__name__} was fitted as {rank}: the network was trained by "
            "all ranks, and rank 0 alone has the fitted classifier. Use or save it under "
            "`if torch.distributed.get_rank() == 0:`, and load it elsewhere."
        )
    return "net_" in vars(classifier)


def snapshot_of(estimator: _Estimator) -> _Estimator:
    """Return a shallow copy, which a fit of the estimator in another thread does not change.

    A prediction reads many attributes, and must read all of them from one fit.
    """
    snapshot = object.__new__(type(estimator))
    snapshot.__dict__ = estimator.__dict__.copy()
    return snapshot


def replace_attributes(estimator: StatefulEstimator, attributes: Mapping[str, Any]) -> None:
    """Set all attributes in one assignment: another thread sees those of one fit."""
    earlier = {*_fitted_names(type(estimator)), "_rank"}
    kept = {name: value for name, value in vars(estimator).items() if name not in earlier}
    estimator.__dict__ = {**kept, **attributes}


def _fitted_names(estimator: type) -> set[str]:
    """Return the names of fitted attributes that a class and its bases annotate."""
    annotated = (name for base in estimator.__mro__ for name in inspect.get_annotations(base))
    return {name for name in annotated if name.endswith("_")}


@contextmanager
def restoring(name: str) -> Iterator[None]:
    """Turn errors of an invalid state into ModelFormatError, with the name of the estimator."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ModelFormatError(f"This {name} cannot be restored: {error}.") from error


def training_state(estimator: Any) -> dict[str, Any]:
    """Return what the state of each fitted estimator says about its training."""
    return {
        "history": estimator.history_,
        "best_epoch": estimator.best_epoch_,
        "best_score": estimator.best_score_,
        "device": estimator.device_,
    }


def restored_training(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes that a checked state has by `training_state`."""
    return {
        "history_": state["history"],
        "best_epoch_": state["best_epoch"],
        "best_score_": state["best_score"],
        "n_iter_": len(state["history"]),
        "device_": device_of(state),
    }


def device_of(state: Mapping[str, Any]) -> str:
    """Return the device that a restored estimator computes with: the CPU where its own is not."""
    return state["device"] if state["device"] in available_devices() else "cpu"


def state_of(classifier: HANClassifier) -> dict[str, Any]:
    """Return the state of a fitted classifier; see `HANClassifier.to_state`."""
    ngram_model, latent_model = classifier.ngram_model_, classifier.latent_model_
    summary = classifier.fit_summary_
    return {
        "classes": classifier.classes_,
        "vocabulary_size": classifier.vocabulary_size_,
        "encoder": None if classifier.encoder_ is None else classifier.encoder_._asdict(),
        "tokenizer": classifier.tokenizer_,
        "network": net_to_state(classifier.net_),
        "ngram_model": None if ngram_model is None else ngram_model.to_state(),
        "latent_model": None if latent_model is None else latent_model.to_state(),
        "network_scale": classifier.network_scale_,
        "ngram_scale": classifier.ngram_scale_,
        "latent_scale": classifier.latent_scale_,
        **training_state(classifier),
        "fit_summary": None if summary is None else summary.to_dict(),
    }


def attributes_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes of a state, after a check of all its entries.

    Raises
    ------
    ModelFormatError
        If an entry is missing or invalid.
    """
    with restoring("HANClassifier"):
        check(CLASSIFIER, state)
        ngram_model, latent_model = stored_models(state)
        reads_words = state["network"]["reads"] == "words"
        from_state = net_from_state if reads_words else sentence_net_from_state
        net = from_state(state["network"], device_of(state))
        summary = None if state["fit_summary"] is None else FitSummary(**state["fit_summary"])
    return {
        "classes_": state["classes"].copy(),
        "tokenizer_": state["tokenizer"],
        "net_": net,
        "ngram_model_": ngram_model,
        "network_scale_": state["network_scale"],
        "ngram_scale_": state["ngram_scale"],
        "latent_model_": latent_model,
        "latent_scale_": state["latent_scale"],
        "fit_summary_": summary,
        "vocabulary_size_": state["vocabulary_size"],
        "encoder_": None if state["encoder"] is None else EncoderFingerprint(**state["encoder"]),
        **restored_training(state),
    }


def known_documents(classifier: HANClassifier, documents: DocumentArray) -> DocumentArray:
    """Return documents as a fitted classifier knows them: without words beyond its vocabulary.

    Raises
    ------
    TypeError, ValueError
        If it reads sentence vectors, and the documents have none, or those of another encoder.
    """
    check_sentence_vectors(documents, classifier.net_.dimension, classifier.encoder_)
    return within_vocabulary(documents, classifier.vocabulary_size_)
