"""save: a fitted estimator as data in one file."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np
import sklearn
import torch
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import sk_han
from sk_han.classifier import HANClassifier
from sk_han.linear.ngrams import NgramChannel
from sk_han.persistence.archive import read_archive, write_archive
from sk_han.persistence.loading import restored
from sk_han.persistence.plain import to_plain
from sk_han.persistence.replacing import replacing
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.utils.compat import validate_parameter_constraints

__all__ = ["save"]

_Arrays = dict[str, NDArray[Any]]

_JOBLIB = "joblib.dump stores its name, for files that only people you trust hand to joblib.load."
_REPAIRS = {
    "callbacks": "set_params(callbacks=None) first; predicting needs none.",
    "net_params": "Take out what is no plain value, or set_params(net_params=None); the fitted "
    "network keeps what it needs.",
    "optimizer": "set_params(optimizer='adamw') first; predicting needs none.",
    "pretrained_embedding": "set_params(pretrained_embedding='cooccurrence') first; the fitted "
    "vectors stay.",
    "random_state": "set_params(random_state=0), or another integer, first.",
    "sentence_splitter": _JOBLIB,
    "strip_accents": _JOBLIB,
    "tokenizer": "set_params(tokenizer=None) first; the fitted tokenizer stays.",
    "vocabulary": "Give a dict or a list of words.",
    "word_tokenizer": _JOBLIB,
}


def save(
    estimator: HANClassifier | HierarchicalTokenizer | Pipeline, path: str | os.PathLike[str]
) -> None:
    """Save a fitted estimator to a file that holds data only.

    The file is a zip of JSON and NumPy arrays. `load` reads it without running code from it.
    A file that was there stays whole until the new one is.

    Parameters
    ----------
    estimator : HANClassifier, HierarchicalTokenizer or Pipeline of the two
        Fitted.
    path : str or path-like
        The file, by habit with the ending ``.han``.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If the estimator is none of these, or a parameter is no plain value: a function, a
        callback, an optimizer class, a RandomState. The message says what to do.
    ValueError
        If the estimator was changed so that `load` would refuse it.
    OSError
        If the file cannot be written.

    See Also
    --------
    load : Read the file.

    Notes
    -----
    What predicting, explaining and learning on need is in the file: parameters, tokenizer with
    vocabulary, weights, history, metadata requests. The moments of the optimizer, callbacks set by
    ``set_callbacks`` and attributes of your own are not. A process that is killed while it writes
    leaves a hidden file with the ending ``.tmp`` in the folder.

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
    arrays: _Arrays = {}
    description = {"versions": _versions(), "model": _described(estimator, arrays)}
    with replacing(path) as file:
        write_archive(file, description, arrays)
        restored(*read_archive(file))  # a file that cannot be loaded replaces none that can


def _versions() -> dict[str, str]:
    return {
        "sk_han": sk_han.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _described(estimator: Any, arrays: _Arrays) -> dict[str, Any]:
    if type(estimator) is Pipeline:
        return _pipeline(estimator, arrays)
    if type(estimator) not in (HANClassifier, HierarchicalTokenizer):
        raise TypeError(
            "sk_han.save takes a HANClassifier, a HierarchicalTokenizer or a Pipeline of the two; "
            f"got {type(estimator).__name__}. After a search, save search.best_estimator_; for "
            "everything else there is joblib.dump."
        )
    check_is_fitted(estimator)
    described = _unfitted(estimator, arrays)
    if type(estimator) is HierarchicalTokenizer:
        return described | {"fitted": {"vocabulary": to_plain(estimator.vocabulary_)}}
    fitted = _fitted_classifier(estimator, arrays)
    return described | {"requests": _requests(estimator), "fitted": fitted}


def _pipeline(pipeline: Pipeline, arrays: _Arrays) -> dict[str, Any]:
    steps = [type(step) for _, step in pipeline.steps]
    if steps != [HierarchicalTokenizer, HANClassifier]:
        raise TypeError(
            "sk_han.save takes a Pipeline of a HierarchicalTokenizer and a HANClassifier; got one "
            f"of {[step.__name__ for step in steps]}. Save the step pipeline[-1] alone, or use "
            "joblib.dump."
        )
    if pipeline.memory is not None:
        raise TypeError(
            "memory of the Pipeline cannot be saved: it names a folder of pickles, from which a "
            "loaded model should not read. set_params(memory=None) first."
        )
    params = {
        name: _parameter(pipeline, name, value, arrays)
        for name, value in pipeline.get_params(deep=False).items()
        if name not in ("steps", "memory")
    }
    described = [[name, _described(step, arrays)] for name, step in pipeline.steps]
    return {"class": "Pipeline", "params": params, "steps": described}


def _unfitted(estimator: Any, arrays: _Arrays) -> dict[str, Any]:
    name, params = type(estimator).__name__, estimator.get_params(deep=False)
    # What load would refuse is not saved.
    validate_parameter_constraints(estimator._parameter_constraints, params, caller_name=name)
    described = {key: _parameter(estimator, key, value, arrays) for key, value in params.items()}
    return {"class": name, "params": described}


def _parameter(estimator: Any, name: str, value: Any, arrays: _Arrays) -> Any:
    if type(value) is HierarchicalTokenizer:
        return _unfitted(value, arrays)  # a fit clones it and learns anew
    if name == "pretrained_embedding" and type(value) is np.ndarray and value.dtype.kind in "iuf":
        arrays[name] = value
        return {"array": name}
    try:
        return to_plain(value)
    except TypeError as error:
        repair = _REPAIRS.get(name, f"set_params({name}=...) to a plain value first.")
        raise TypeError(
            f"{name} of the {type(estimator).__name__} cannot be saved: {error}. {repair}"
        ) from error


def _requests(classifier: HANClassifier) -> Any:
    """Give what set_fit_request and its kin have set."""
    routing = classifier.get_metadata_routing()
    return to_plain(
        {
            method: {
                name: request
                for name, request in getattr(routing, method).requests.items()
                if request is not None
            }
            for method in ("fit", "partial_fit", "score")
        }
    )


def _fitted_classifier(classifier: HANClassifier, arrays: _Arrays) -> dict[str, Any]:
    tokenizer = classifier.tokenizer_
    arrays |= classifier.net_.weights
    return {
        "classes": _classes(classifier.classes_, arrays),
        "tokenizer": None if tokenizer is None else _described(tokenizer, arrays),
        "history": to_plain(classifier.history_),
        "device": classifier.device_,
        "network": to_plain(classifier.net_.restoring_params),
        "ngrams": _ngrams(classifier.ngram_channel_, arrays),
        "logit_scales": classifier.logit_scales_.tolist(),
    }


def _ngrams(channel: NgramChannel | None, arrays: _Arrays) -> Any:
    if channel is None:
        return None
    arrays |= {f"ngrams.{name}": array for name, array in channel.arrays.items()}
    return {"ngram_range": list(channel.ngram_range)}


def _classes(classes: NDArray[Any], arrays: _Arrays) -> Any:
    if classes.dtype.kind in "biufU":
        arrays["classes"] = classes
        return {"array": "classes"}
    plain = (str, bool, int, float, np.bool_, np.number)
    if classes.dtype == object and all(isinstance(label, plain) for label in classes):
        return to_plain(classes.tolist())
    raise TypeError(
        f"classes_ of dtype {classes.dtype} cannot be saved. Fit on labels that are strings, "
        "integers or booleans."
    )
