"""export_onnx: a classifier for ONNX Runtime, and its rules for reading text as JSON."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import sk_han
from sk_han.classifier import HANClassifier
from sk_han.persistence.onnx.building import INPUTS, OUTPUTS, onnx_model
from sk_han.persistence.onnx.parity import check_parity
from sk_han.persistence.onnx.rules import tokenizer_rules
from sk_han.storage.json_values import to_plain
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.utils.atomic_write import replacing
from sk_han.utils.optional import import_optional


def export_onnx(model: HANClassifier | Pipeline, path: str | os.PathLike[str]) -> None:
    """Export a fitted classifier as a graph of ONNX operators.

    The graph holds network, n-gram model and latent model, and needs ONNX Runtime alone. Beside
    it a file of JSON, its name with ``.json`` appended, holds the classes, the vocabulary and the
    rules by which texts become word ids. Before anything is written, ONNX Runtime computes
    documents of many shapes, and must agree with the classifier.

    Parameters
    ----------
    model : HANClassifier, or Pipeline of HierarchicalTokenizer and HANClassifier
        Fitted. Every `rnn` is covered, with `pooling` "attention", "mean", Attention or
        MultiHopAttention, the last two with ``normalizer="softmax"``.
    path : str or path-like
        The file of the graph, by convention with the ending ``.onnx``. Existing files are
        replaced only when the new ones are complete.

    Raises
    ------
    ModuleNotFoundError
        If the package onnx or onnxruntime is missing.
    TypeError
        If `model` is none of these, or its tokenizer reads by a function.
    ValueError
        If the graph does not cover the classifier; the message names the option.
    RuntimeError
        If ONNX Runtime does not compute what the classifier does, to 1e-5.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    See Also
    --------
    sk_han.serving.Scorer : All classifiers without PyTorch, from raw texts, explanations included.

    Notes
    -----
    Inputs are int64 and ragged, as a `DocumentArray` holds them: ``word_ids`` of all words,
    ``words_per_sentence`` and ``sentences_per_document``. Outputs are float32: ``probabilities`` of
    shape (n_documents, n_classes), ``word_attention`` (n_words,) and ``sentence_attention``
    (n_sentences,). Documents without words, and no documents, are allowed. The graph uses opset 18,
    and asks that products of uint64 wrap.

    Examples
    --------
    >>> from sk_han.persistence import export_onnx
    >>> export_onnx(classifier, "reviews.onnx")  # doctest: +SKIP
    >>> import onnxruntime  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("reviews.onnx")  # doctest: +SKIP
    >>> documents = classifier.tokenizer_.transform(["A fine film."])  # doctest: +SKIP
    >>> probabilities, word_attention, sentence_attention = session.run(
    ...     None,
    ...     {
    ...         "word_ids": documents.word_ids.astype("int64"),
    ...         "words_per_sentence": documents.words_per_sentence,
    ...         "sentences_per_document": documents.sentences_per_document,
    ...     },
    ... )  # doctest: +SKIP
    """
    onnx = import_optional("onnx", "onnx", "export_onnx")
    runtime = import_optional("onnxruntime", "onnx", "export_onnx")
    classifier, tokenizer = _parts(model)
    check_is_fitted(classifier)
    fitted = HANClassifier().from_state(classifier.to_state())  # another thread may refit it
    tokenizer = tokenizer or fitted.tokenizer_
    rules = None if tokenizer is None else tokenizer_rules(tokenizer)
    content = onnx_model(onnx, fitted.pool_).SerializeToString()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    check_parity(session, fitted)
    description = {
        "sk_han": sk_han.__version__,
        "sha256": hashlib.sha256(content).hexdigest(),
        "classes": to_plain(fitted.classes_.tolist()),
        "vocabulary_size": fitted.vocabulary_size_,
        "inputs": INPUTS,
        "outputs": OUTPUTS,
        "tokenizer": rules,
    }
    with replacing(f"{os.fspath(path)}.json") as beside, replacing(path) as file:
        beside.write(json.dumps(description, indent=1).encode("ascii"))
        file.write(content)


def _parts(model: Any) -> tuple[HANClassifier, HierarchicalTokenizer | None]:
    """Return the classifier, and the tokenizer of a Pipeline."""
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps]
        if [type(step) for step in steps] == [HierarchicalTokenizer, HANClassifier]:
            return steps[1], steps[0]
    elif isinstance(model, HANClassifier):
        return model, None
    found = [type(step).__name__ for _, step in getattr(model, "steps", [])]
    raise TypeError(
        "export_onnx takes a HANClassifier, or a Pipeline of a HierarchicalTokenizer and a "
        f"HANClassifier; got {type(model).__name__}{f' of {found}' if found else ''}. Of another "
        "Pipeline, pass its last step pipeline[-1], if it reads words."
    )
