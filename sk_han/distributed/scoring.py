"""predict and predict_proba over collections of Dask, by a scorer in each worker."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.serving import Scorer
from sk_han.utils.counts import a_kind
from sk_han.utils.frames import column_dtype
from sk_han.utils.optional import import_optional
from sk_han.utils.warnings import warn_user
from sk_han.validation.texts import check_texts


def predict_proba(model: Any, documents: Any) -> Any:
    """Predict the probability of each class for documents in a collection of Dask.

    Nothing is computed until the result is. Each worker gets the model once, and needs neither
    PyTorch nor scikit-learn to predict.

    Parameters
    ----------
    model : HANClassifier, Pipeline, Scorer, str or path-like
        A fitted estimator; a `sk_han.serving.Scorer`; or a file of `sk_han.save`, which this
        process reads, so that workers need not see it. What `sk_han.save` refuses, such as a
        tokenizer with your own function, is sent as it is, with a warning: its workers need what
        the estimator needs.
    documents : dask.bag.Bag, dask.dataframe.Series, or list of dask.delayed.Delayed
        Raw texts. Each delayed part is a list, or another collection of `HANClassifier.predict`.

    Returns
    -------
    dask.array.Array or dask.dataframe.DataFrame
        Of a bag or of delayed parts an array of shape (n_documents, n_classes), whose number of
        rows is unknown until it is computed. Of a Series a frame with a column for each class,
        with the index and the divisions of the Series. Classes are in the order of ``classes_``.

    Raises
    ------
    ModuleNotFoundError
        If Dask is missing: ``pip install "sk-han[dask]"``.
    TypeError
        If `documents` is no such collection, or `model` no such model. When the result is
        computed: if a document is missing or no text, with its partition and row.
    ModelFormatError, OSError
        If the file of the model cannot be read.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    Notes
    -----
    Create the ``Client`` first: the model is sent to the cluster when this function is called. A
    worker holds it, and for each of its threads the texts of a partition, of which 10 to 100 MB are
    a good size, and 64 documents. Probabilities are those of the model up to rounding, about 1e-6.

    Examples
    --------
    >>> import dask.bag  # doctest: +SKIP
    >>> from sk_han.distributed import predict_proba
    >>> texts = dask.bag.read_text("reviews/*.txt.gz")  # doctest: +SKIP
    >>> predict_proba("reviews.han", texts).compute()  # doctest: +SKIP
    """
    return _scored(model, documents, "predict_proba")


def predict(model: Any, documents: Any) -> Any:
    """Predict the most probable label of documents in a collection of Dask.

    Parameters
    ----------
    model, documents
        As of `predict_proba`.

    Returns
    -------
    dask.array.Array, dask.dataframe.Series or dask.dataframe.DataFrame
        Of a bag or of delayed parts an array of shape (n_documents,); of a Series a Series with
        its index. Labels are of the type of ``classes_``. With several labels a document an
        indicator of integers, as `predict_proba` returns probabilities.
    """
    return _scored(model, documents, "predict")


def _scored(model: Any, documents: Any, method: str) -> Any:
    """Return the collection of what a method of the model says of the documents."""
    caller = f"sk_han.distributed.{method}"
    dask = import_optional("dask", "dask", caller)
    collection = import_optional("dask.array", "dask", caller)
    _check_kind(documents, caller)
    scorer = _scorer(model, caller)
    empty = _of_none(scorer, method)
    if find_spec("distributed") is not None:  # it makes its settings when it is first imported
        importlib.import_module("distributed")
    # Sent now, and once: a graph that holds it would be sent by each compute(). Dask warns of what
    # is large, since it is often sent by mistake.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
        (shared,) = dask.persist(dask.delayed(scorer, pure=False, traverse=False))
    if _is_series(documents):
        meta = _as_pandas(empty, scorer, documents._meta.index)
        return documents.map_partitions(_rows_of_series, shared, method, meta=meta)
    parts = documents if isinstance(documents, Sequence) else documents.to_delayed()
    work, shape = dask.delayed(_rows, pure=False), (np.nan, *empty.shape[1:])
    rows = [work(part, shared, method, number) for number, part in enumerate(parts)]
    return collection.concatenate(
        [collection.from_delayed(each, shape=shape, dtype=empty.dtype) for each in rows]
    )


def _is_series(documents: Any) -> bool:
    is_column = hasattr(documents, "divisions") and getattr(documents, "ndim", None) == 1
    return is_column and hasattr(documents, "index")  # an index has none of its own


def _check_kind(documents: Any, caller: str) -> None:
    """Refuse what is no collection of Dask that holds one text a document."""
    from dask.bag import Bag
    from dask.delayed import Delayed

    parts = documents if isinstance(documents, Sequence) else ()
    is_list = len(parts) > 0 and all(isinstance(part, Delayed) for part in parts)
    # A delayed part claims to have any attribute.
    is_part = isinstance(documents, Delayed)
    if is_part or not (isinstance(documents, Bag) or is_list or _is_series(documents)):
        raise TypeError(
            f"{caller} takes a bag, a Series or a list of delayed parts of Dask; got "
            f"{a_kind(documents)}. Of a list of texts make a bag first: "
            "dask.bag.from_sequence(texts). Of a table pass the column that holds the text, for "
            "example table['text']. Put a single part into a list: [part]."
        )


def _scorer(model: Any, caller: str) -> Any:
    """Return what predicts in the workers."""
    if isinstance(model, Scorer):
        return model
    if isinstance(model, (str, os.PathLike)):
        return Scorer.load(model)
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{caller} takes a fitted HANClassifier or Pipeline, a Scorer, or the name of a file "
            f"of sk_han.save; got {a_kind(model)}."
        )
    from sklearn.utils.validation import check_is_fitted

    from sk_han.persistence import save  # PyTorch, which this process has

    check_is_fitted(model)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.han"
        try:
            save(model, path)
        except TypeError as error:
            warn_user(
                f"The workers predict with the {type(model).__name__} itself, which takes more "
                f"memory and needs the packages that it was made with: {error}"
            )
            return model
        return Scorer.load(path)


def _rows(part: Any, model: Any, method: str, number: int) -> NDArray[Any]:
    """Score a partition."""
    texts = part
    if isinstance(part, Iterable) and not hasattr(part, "__len__"):
        texts = list(part)  # some parts of a bag are iterators
    if hasattr(texts, "__len__") and getattr(texts, "shape", None) != () and len(texts) == 0:
        return _of_none(model, method)
    try:
        texts = check_texts(texts)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"Partition {number}: {error}") from error
    found: NDArray[Any] = getattr(model, method)(texts)
    return found


def _rows_of_series(part: Any, model: Any, method: str, partition_info: Any = None) -> Any:
    """Score a partition of a Series, and keep its index."""
    number = partition_info["number"]  # Dask gives it for the name of the argument
    return _as_pandas(_rows(part, model, method, number), model, part.index)


def _of_none(model: Any, method: str) -> NDArray[Any]:
    """Return what the method says of no documents."""
    if method == "predict":
        found: NDArray[Any] = model.predict([""])[:0]  # one column, or one of each label
        return found
    return np.empty((0, len(model.classes_)))


def _as_pandas(rows: NDArray[Any], model: Any, index: Any) -> Any:
    import pandas as pd

    labels = list(model.classes_)
    dtype = column_dtype(labels)
    if rows.ndim == 1:
        return pd.Series(rows, index=index, dtype=dtype)
    columns = pd.Index(labels, dtype=dtype)
    return pd.DataFrame(rows, index=index, columns=columns)
