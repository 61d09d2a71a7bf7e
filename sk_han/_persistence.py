"""Saving models to files that hold data only, and loading them."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
import torch
from sklearn import config_context
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import sk_han
from sk_han._classifier import HANClassifier
from sk_han._regressor import HANRegressor
from sk_han._storage.description import (
    ESTIMATORS,
    WITH_PARTS,
    check_class,
    check_none_left,
    fitted_state,
    stored_estimator,
    stored_model,
)
from sk_han._storage.model_file import (
    Arrays,
    model_file,
    pack_words,
    read_model,
    to_plain,
    write_model,
)
from sk_han._text.reader import READING
from sk_han._text.sentence_encoder import check_storable
from sk_han._text.vocabulary import stored_tokenizer
from sk_han._tokenizer import HierarchicalTokenizer
from sk_han._utils.compat import validate_parameter_constraints
from sk_han._utils.files import check_replaceable, replacing
from sk_han._utils.messages import a_kind
from sk_han.inspection._estimators import inner_model

if TYPE_CHECKING:
    from sk_han._embedder import SentenceEmbedder
    from sk_han.tagging import SequenceTagger
    from sk_han.translation import AttentionTranslator

    Saved = (
        HANClassifier
        | HANRegressor
        | HierarchicalTokenizer
        | SentenceEmbedder
        | SequenceTagger
        | AttentionTranslator
    )


# Parameters that are not saved: an encoder may be any object, caches are folders of this machine,
# and the steps of a Pipeline are described one by one.
_NOT_STORED = ("encoder", "encoder_memory", "memory", "steps")


def load(path: str | os.PathLike[str], *, encoder: Any = None) -> Saved | Pipeline:
    """Load an estimator that `save` wrote, without running code from the file.

    Parameters
    ----------
    path : str or path-like
    encoder : object or str, default=None
        The sentence encoder of the `HANClassifier` or `SentenceEmbedder`, or its name
        ``"module:Name"``, since the encoder is not saved. Its vectors of fixed sentences must be
        those of the fit. Other models ignore it.

    Returns
    -------
    HANClassifier, HANRegressor, HierarchicalTokenizer, SentenceEmbedder, Pipeline, \
            SequenceTagger or AttentionTranslator
        The fitted estimator; on the machine that saved it, its predictions have the same bits. A
        classifier computes on the device that it was fitted on, or on the CPU if that is missing.

    Raises
    ------
    ModelFormatError
        If the file is empty, truncated, damaged, not written by `save`, or of another format; if
        the model needs another encoder, or none. It is a ValueError.
    OSError
        If the file cannot be read, or is a pipe or device; FileNotFoundError if there is none.

    See Also
    --------
    save : Write the file, with an example.

    Notes
    -----
    The SHA-256 in the file detects accidental damage, not attacks: whoever can change the file can
    also change the hash, and with it the predictions, or their time by a `token_pattern` that
    backtracks. Whatever the file holds, loading takes at most 64 times its size plus 4 MB.
    """
    with model_file(path) as file:
        return from_description(*read_model(file), encoder)


def from_description(description: Any, arrays: Arrays, encoder: Any) -> Any:
    """Create the estimator that a file describes; errors do not name the file."""
    pipeline, steps, _ = stored_model(description)
    estimators = [(name, _estimator(data, arrays, encoder)) for name, data in steps]
    check_none_left(arrays)
    if pipeline is None:
        return estimators[0][1]
    return _with_params(Pipeline, {**pipeline, "steps": estimators, "memory": None})


def _estimator(data: Any, arrays: Arrays, encoder: Any) -> Any:
    """Create one of `ESTIMATORS` from its description, with its fitted state."""
    kind = data["class"]
    if kind == "HierarchicalTokenizer":
        return _tokenizer(data, arrays)
    params, requests, fitted = stored_estimator(data, arrays)
    if kind == "SentenceEmbedder":
        params["encoder"] = encoder
    estimator = _with_params(getattr(sk_han, kind), params)
    with config_context(enable_metadata_routing=True):
        for method, requested in requests.items():
            if requested:
                getattr(estimator, f"set_{method}_request")(**requested)
    estimator.from_state(fitted_state(fitted, arrays, _tokenizer))
    if kind in WITH_PARTS:
        check_class(kind, estimator.model_.target)
    if kind in WITH_PARTS and estimator.model_.needs_encoder:
        estimator.encoder = encoder
        with estimator._computing():
            estimator.model_ = estimator.model_.with_encoder(encoder)
    return estimator


def _tokenizer(data: Any, arrays: Arrays) -> HierarchicalTokenizer:
    stored = stored_tokenizer(data, arrays)
    tokenizer: HierarchicalTokenizer = _with_params(HierarchicalTokenizer, stored.params)
    tokenizer.vocabulary_, tokenizer.reading_ = stored.vocabulary, READING
    return tokenizer


def _with_params(cls: Any, params: dict[str, Any]) -> Any:
    """Create an estimator with these parameters, and defaults for the others; check all of them."""
    params = {
        name: _with_params(HierarchicalTokenizer, value)
        if isinstance(value, dict) and name.endswith("tokenizer")
        else value.copy()  # the array of a file is read-only
        if isinstance(value, np.ndarray)
        else value
        for name, value in params.items()
    }
    estimator = cls(**params)
    params = estimator.get_params(deep=False)
    validate_parameter_constraints(cls._parameter_constraints, params, caller_name=cls.__name__)
    return estimator


_JOBLIB = (
    "Move it into a module that can be imported and use joblib.dump; joblib.load is only for files "
    "from people that you trust."
)

_REPAIRS = {
    "callbacks": "set_params(callbacks=None) first; predicting needs none.",
    "net_params": "Take out what is not a plain value, or set_params(net_params=None); the fitted "
    "network keeps what it needs.",
    "optimizer": "set_params(optimizer='adamw') first; predicting needs none.",
    "embedding_init": "set_params(embedding_init='cooccurrence') first; the fitted vectors stay.",
    "random_state": "set_params(random_state=0), or another integer, first.",
    "sentence_splitter": _JOBLIB,
    "strip_accents": _JOBLIB,
    "source_tokenizer": "set_params(source_tokenizer=None) first; the fitted tokenizer stays.",
    "target_tokenizer": "set_params(target_tokenizer=None) first; the fitted tokenizer stays.",
    "tokenizer": "set_params(tokenizer=None) first; the fitted tokenizer stays.",
    "vocabulary": "Give a dict or a list of words.",
    "word_tokenizer": _JOBLIB,
}


def save(
    estimator: Saved | Pipeline,
    path: str | os.PathLike[str],
    *,
    text_hashes: bool = False,
    overwrite: bool = False,
    table: dict[str, Any] | None = None,
) -> None:
    """Save a fitted estimator to a file that contains data only.

    The file is in the safetensors format: arrays by name, and the rest as JSON in its metadata.
    `load` reads it without running code from it. An existing model is replaced once the new one is
    complete.

    Parameters
    ----------
    estimator : HANClassifier, HANRegressor, HierarchicalTokenizer, SentenceEmbedder, Pipeline of \
            one of the last two and one of the first two, SequenceTagger or AttentionTranslator
        A fitted estimator; of a search or a FrozenEstimator, the model inside is saved. A sentence
        encoder is not saved, so `load` takes it again; nor are `encoder_memory` and `memory`, which
        are folders of this machine.
    path : str or path-like
        The file, by convention with the ending ``.han``.
    text_hashes : bool, default=False
        Whether to save a classifier's `text_hashes_`, by which `report` and similar functions
        recognize training documents. Whoever has such a file can test whether a text was among
        them.
    overwrite : bool, default=False
        Whether to replace an existing file that is not a model.
    table : dict, default=None
        How the training table was read, so that the command line reads other tables alike; see
        `sk_han.serving.Scorer.table`.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If the estimator is none of these, or a parameter is not a plain value: a function, a
        callback, an optimizer class, a RandomState. The message names the repair.
    ValueError
        If the estimator was changed in such a way that `load` would raise an error.
    OSError
        If the file cannot be written; FileExistsError if it is not a model.

    See Also
    --------
    load : Read the file.

    Notes
    -----
    Neither the moments of the optimizer nor attributes that you added are saved. A process that is
    killed while writing leaves a hidden file with the ending ``.tmp`` in the folder, which the next
    `save` in the folder removes.

    Examples
    --------
    >>> import os, tempfile
    >>> import sk_han
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> classifier = sk_han.HANClassifier(embedding_dim=8, max_epochs=1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "reviews.han")
    ...     sk_han.save(classifier.fit(texts, labels), path)
    ...     loaded = sk_han.load(path)
    >>> bool((loaded.predict_proba(texts) == classifier.predict_proba(texts)).all())
    True
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be the name of a file, after the model; got {a_kind(path)}.")
    check_replaceable(path, None if overwrite else "overwrite=True", by_model=True)
    estimator = inner_model(estimator)
    arrays: Arrays = {}
    versions = {
        "sk_han": sk_han.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    description = {"versions": versions, "model": _describe(estimator, arrays, text_hashes)}
    if table is not None:
        description["table"] = to_plain(table)
    with replacing(path) as file:
        write_model(file, description, arrays)
        # Load the new file before it replaces another one, so that no model is lost.
        first = estimator[0] if type(estimator) is Pipeline else estimator
        from_description(*read_model(file.name), getattr(first, "encoder", None))


def _describe(
    estimator: Any, arrays: Arrays, text_hashes: bool = False, name: str = "tokenizer"
) -> dict[str, Any]:
    """Describe an estimator in JSON's types, and add its arrays to `arrays`.

    `name` begins the names of the arrays of a tokenizer.
    """
    kind = type(estimator).__name__
    if type(estimator) is Pipeline:
        _check_steps(estimator)
        steps = [[name, _describe(step, arrays, text_hashes)] for name, step in estimator.steps]
        return _describe_params(estimator, arrays) | {"steps": steps}
    if kind not in ESTIMATORS or type(estimator) is not getattr(sk_han, kind):
        raise TypeError(
            "sk_han.save takes an estimator of sk_han, a Pipeline of a HierarchicalTokenizer or "
            "SentenceEmbedder and a HANClassifier or HANRegressor, or a search of one; got "
            f"{kind}. For everything else there is joblib.dump."
        )
    check_is_fitted(estimator)
    described = _describe_params(estimator, arrays)
    if kind == "HierarchicalTokenizer":
        # The stop words of scikit-learn are saved, since a Scorer works without scikit-learn.
        is_english = estimator.stop_words == "english"
        arrays |= pack_words(estimator.vocabulary_, name)
        fitted = {
            "vocabulary": {"words": name},
            "stop_words": sorted(ENGLISH_STOP_WORDS) if is_english else None,
            "reading": estimator.reading_,
        }
        return described | {"fitted": fitted}
    state = estimator.to_state()
    fitted = state.pop("fitted_encoder", None)
    check_storable(estimator.encoder_ if kind == "SentenceEmbedder" else fitted)
    if "text_hashes" in state and not text_hashes:
        state["text_hashes"] = None
    fitted = {name: _encode(value, name, arrays) for name, value in state.items()}
    if kind != "SentenceEmbedder":
        described["requests"] = _requests(estimator)
    return described | {"fitted": fitted}


def _encode(value: Any, name: str, arrays: Arrays) -> Any:
    """Encode a value of the fitted state in JSON's types, and add its arrays to `arrays`."""
    if isinstance(value, Mapping):
        return {"state": {key: _encode(v, f"{name}.{key}", arrays) for key, v in value.items()}}
    if isinstance(value, HierarchicalTokenizer):
        return _describe(value, arrays, name=name)
    if not isinstance(value, np.ndarray):
        return to_plain(value)
    if value.dtype.kind in "biufU":
        arrays[name] = value
        return {"array": name}
    plain = (str, bool, int, float, np.bool_, np.number)
    if value.dtype == object and all(isinstance(label, plain) for label in value):
        return {"labels": to_plain(value.tolist())}
    raise TypeError(
        f"{name}_ of dtype {value.dtype} cannot be saved. Fit on labels that are strings, integers "
        "or booleans."
    )


def _check_steps(pipeline: Pipeline) -> None:
    steps = [type(step) for _, step in pipeline.steps]
    reading = HierarchicalTokenizer, sk_han.SentenceEmbedder
    is_read = len(steps) > 1 and steps[-2] in reading
    learners = HANClassifier, HANRegressor
    if len(steps) != 2 or not is_read or steps[1] not in learners:
        part = f"Save pipeline[{'-2:' if is_read else '-1'}], and give the loaded one what the "
        part += "steps before it return; or "
        part *= steps[-1] in learners
        raise TypeError(
            "sk_han.save takes a Pipeline of a HierarchicalTokenizer or a SentenceEmbedder, and a "
            "HANClassifier or HANRegressor; got one of "
            f"{[step.__name__ for step in steps]}. {part}joblib.dump saves the whole Pipeline."
        )


def _describe_params(estimator: Any, arrays: Arrays) -> dict[str, Any]:
    """Describe the class and parameters of an estimator, and add its arrays to `arrays`."""
    kind, params = type(estimator).__name__, estimator.get_params(deep=False)
    # Parameters may have been set since the fit, and `load` would refuse invalid ones.
    validate_parameter_constraints(estimator._parameter_constraints, params, caller_name=kind)
    described: dict[str, Any] = {}
    for name, value in params.items():
        if name in _NOT_STORED:
            continue
        # `fit` clones the tokenizer that is a parameter, so its fitted state is not needed.
        if type(value) is HierarchicalTokenizer:
            described[name] = _describe_params(value, arrays)
            continue
        if name == "embedding_init" and type(value) is np.ndarray and value.dtype.kind in "iuf":
            arrays[name] = value
            described[name] = {"array": name}
            continue
        if name == "threshold" and not isinstance(value, str):
            value = np.asarray(value).tolist()
        try:
            described[name] = to_plain(value)
        except TypeError as error:
            repair = _REPAIRS.get(name, f"set_params({name}=...) to a plain value first.")
            raise TypeError(f"{name} of the {kind} cannot be saved: {error}. {repair}") from error
    return {"class": kind, "params": described}


def _requests(estimator: Any) -> Any:
    """Return the metadata requests that were set by `set_fit_request` and similar methods."""
    routing = estimator.get_metadata_routing()
    return to_plain(
        {
            method: {
                name: request
                for name, request in getattr(routing, method).requests.items()
                if request is not None
            }
            for method in ("fit", "partial_fit", "score")
            if hasattr(estimator, method)
        }
    )
