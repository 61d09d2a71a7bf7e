"""Check of the fitted state of an estimator, before it is used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from reprlib import repr as brief  # a value from a file may be as long as the file
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID
from sk_han.inspection.results.fit_summary import FitSummary
from sk_han.options.network_state import (
    check_network,
    check_sentence_network,
    reads_sentences,
)

__all__ = [
    "check_classes",
    "check_classifier_state",
    "check_names",
    "check_training",
    "checked_network",
]

_LARGEST_SCALE = 1e6  # far beyond what fits find; products with logits stay finite

_NAMES = {
    "best_epoch",
    "best_score",
    "classes",
    "device",
    "history",
    "network",
    "network_scale",
    "ngram_model",
    "ngram_scale",
    "tokenizer",
}
# Files written before there were latent models lack these.
_LATER_NAMES = {"latent_model", "latent_scale"}
# What no prediction reads; files written before there was one lack it.
_SUMMARY = "fit_summary"

# Those of a classifier over sentence vectors, besides all others.
_NAMES_OF_SENTENCES = {"encoder", "vocabulary_size"}


def check_classifier_state(state: Any) -> None:
    """Check the fitted state of a `HANClassifier`, except for its linear models.

    Parameters
    ----------
    state : mapping
        As `HANClassifier.to_state` returns it.

    Raises
    ------
    ValueError
        If an entry is missing or invalid; the message names it.
    """
    names = _NAMES | _LATER_NAMES
    of_sentences = names | _NAMES_OF_SENTENCES
    kinds = (names, _NAMES, of_sentences)
    check_names(state, *kinds, *({*kind, _SUMMARY} for kind in kinds))
    classes = state["classes"]
    check_classes(classes)
    network = state["network"]
    if not isinstance(network, Mapping):
        raise ValueError("its network is no mapping of names to values")
    vocabulary_size = _checked_vocabulary_size(state, network)
    if network["n_classes"] != len(classes):
        raise ValueError(
            f"its network has {network['n_classes']} outputs for {len(classes)} classes"
        )
    if state["tokenizer"] is not None:
        vocabulary = getattr(state["tokenizer"], "vocabulary_", None)
        if not vocabulary:
            raise ValueError("its tokenizer is no fitted HierarchicalTokenizer")
        if max(vocabulary.values()) >= vocabulary_size:
            raise ValueError(f"its vocabulary has ids beyond the {vocabulary_size} word vectors")
    for name in ("network_scale", "ngram_scale", "latent_scale"):
        scale = state.get(name, 0.0)
        if type(scale) is not float or not 0 <= scale < _LARGEST_SCALE:
            raise ValueError(
                f"its {name} must be a float from 0 to {_LARGEST_SCALE:g}: {brief(scale)}"
            )
    for name, kind in (("ngram_model", "n-gram model"), ("latent_model", "latent model")):
        if state.get(name) is not None and not isinstance(state[name], Mapping):
            raise ValueError(f"its {kind} is no mapping of names to values")
        scale = state.get(name.replace("model", "scale"), 0.0)
        if state.get(name) is None and scale > 0:
            raise ValueError(f"it has no {kind}, and a scale of {scale} for one")
    check_training(state)
    if state.get(_SUMMARY) is not None:
        FitSummary.from_dict(state[_SUMMARY])


def _checked_vocabulary_size(state: Mapping[str, Any], network: Mapping[str, Any]) -> int:
    """Check the network of words or of sentence vectors; return the number of word ids."""
    if reads_sentences(network) != ("encoder" in state):
        raise ValueError("its network and its encoder of sentences do not belong together")
    if "encoder" not in state:
        check_network(network)
        return int(network["vocabulary_size"])
    check_sentence_network(network)
    size = state["vocabulary_size"]
    if type(size) is not int or size < UNKNOWN_ID + 1:
        raise ValueError(f"its vocabulary_size must be at least 2; got {brief(size)}")
    encoder = state["encoder"]
    if encoder is not None:
        _check_encoder(encoder, network["input_size"])
    return size


def _check_encoder(encoder: Any, dimension: int) -> None:
    if not isinstance(encoder, Mapping) or encoder.keys() != {"name", "vectors"}:
        raise ValueError("its encoder must have a name and vectors")
    vectors = encoder["vectors"]
    if not isinstance(encoder["name"], str):
        raise ValueError("the name of its encoder is no string")
    if (
        not isinstance(vectors, np.ndarray)
        or vectors.dtype != np.float32
        or vectors.ndim != 2
        or vectors.shape[1] != dimension
        or not np.isfinite(vectors).all()
    ):
        raise ValueError(f"the vectors of its encoder must be finite, of {dimension} numbers each")


def check_names(state: Any, *allowed: set[str]) -> None:
    """Check which entries a state has: those of the newest format, which come first, or others."""
    if not isinstance(state, Mapping) or state.keys() not in allowed:
        found = sorted(map(str, state)) if isinstance(state, Mapping) else type(state).__name__
        raise ValueError(f"its fitted state has {found}; it must have {sorted(allowed[0])}")


def checked_network(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options and weights of a network, which are still to be checked."""
    network = state["network"]
    if not isinstance(network, Mapping) or network.keys() != {"options", "weights"}:
        raise ValueError("its network must have options and weights")
    return network


def check_training(state: Mapping[str, Any]) -> None:
    """Check what a state says about its training."""
    _check_history(state["history"])
    n_epochs, epoch, score = len(state["history"]), state["best_epoch"], state["best_score"]
    if epoch is not None and (type(epoch) is not int or not 1 <= epoch <= n_epochs):
        raise ValueError(f"its best epoch must be one of {n_epochs}; got {brief(epoch)}")
    if (epoch is None) != (score is None):
        raise ValueError("its best epoch and best score go together: both or neither")
    if score is not None and (type(score) is not float or not 0 <= score <= 1):
        raise ValueError(f"its best score must be an accuracy; got {brief(score)}")
    if not isinstance(state["device"], str):
        raise ValueError("the name of its device is no string")


def check_classes(classes: Any) -> None:
    """Check the labels, which prediction assumes to be sorted and distinct."""
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(classes) == 0:
        raise ValueError("its classes are no array of labels")
    _check_bits(classes)
    labels = classes.tolist()
    kinds = {float if type(label) is int else type(label) for label in labels}
    if len(kinds) != 1 or not kinds <= {str, bool, float}:
        raise ValueError("its classes are not all strings, all numbers or all booleans")
    if not np.all(classes[:-1] < classes[1:]):
        raise ValueError("its classes are not sorted and distinct")
    if any(isinstance(label, float) and not math.isfinite(label) for label in labels):
        raise ValueError("its classes are not finite")


def _check_bits(classes: NDArray[Any]) -> None:
    """Check that bytes are characters or truth values, which NumPy does not check."""
    if classes.dtype.kind == "U":
        codes = np.frombuffer(classes.tobytes(), classes.dtype.byteorder + "u4")
        if codes.max(initial=0) > 0x10FFFF:
            raise ValueError("its classes hold what is no character")
    if classes.dtype.kind == "b" and classes.view(np.uint8).max(initial=0) > 1:
        raise ValueError("its classes hold what is neither true nor false")


def _check_history(history: Any) -> None:
    for epoch in history if isinstance(history, list) else [None]:
        if not isinstance(epoch, dict) or not all(
            isinstance(name, str) and type(value) in (int, float) for name, value in epoch.items()
        ):
            raise ValueError("its history is no list of named numbers")
