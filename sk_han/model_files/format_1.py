"""Conversion of files of the first format to the names of the present format."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from sk_han.model_files.fields import fields_of
from sk_han.model_files.json_values import from_plain, to_plain
from sk_han.options import RNN, Attention, ContextAttention, MultiHopAttention, NetworkOptions

__all__ = ["upgraded"]

Arrays = dict[str, NDArray[Any]]

# Options of the network in the first format, with their defaults if a file does not name them.
_NETWORK: dict[str, Any] = {
    "embedding_dim": 200,
    "word_hidden": 50,
    "sentence_hidden": 50,
    "attention_dim": 100,
    "dropout": 0.3,
    "word_dropout": 0.2,
    "embedding_dropout": 0.0,
    "rnn": "gru",
    "num_layers": 1,
    "bidirectional": True,
    "pooling": "attention",
    "attention": "softmax",
    "attention_hops": 1,
    "hop_penalty": 1.0,
    "diversity_penalty": 0.0,
    "context": None,
    "context_pooling": "mean",
    "context_gated": False,
}
# Parameters that were renamed or moved into net_params, the latter with their old defaults.
_RENAMED = {"ngram_range": "linear_ngrams", "patience": "n_iter_no_change"}
_IN_NET_PARAMS = {
    "clip_norm": ("clip_norm", 1.0),
    "embedding_dropout": ("module__embedding_dropout", 0.0),
    "label_smoothing": ("criterion__label_smoothing", 0.0),
    "weight_decay": ("optimizer__weight_decay", 0.0001),
}


def upgraded(model: Any, arrays: Arrays) -> Any:
    """Convert the description of a model from the first format to the present one.

    Parameters
    ----------
    model : object
        Of JSON's types. Values that `save` did not write raise an error here or in the checks of
        the present format.
    arrays : dict of str to ndarray
        Those of the file; they are renamed in place.

    Raises
    ------
    ValueError, TypeError
        If `save` cannot have written the model.
    """
    if not isinstance(model, dict):
        return model
    if model.get("class") == "Pipeline" and isinstance(model.get("steps"), list):
        # A step is a pair of name and description; later checks raise errors for others.
        pairs = [step if isinstance(step, list) else [step] for step in model["steps"]]
        return model | {"steps": [[*p[:1], *(upgraded(d, arrays) for d in p[1:])] for p in pairs]}
    if model.get("class") != "HANClassifier":
        return model
    fields = fields_of(model, "the classifier", ["class", "params", "requests", "fitted"])
    return fields | {
        "params": _params(fields["params"], arrays),
        "fitted": _fitted(fields["fitted"], arrays),
    }


def _params(stored: Any, arrays: Arrays) -> dict[str, Any]:
    known = {*_NETWORK, *_RENAMED, *_IN_NET_PARAMS, *_KEPT}
    known |= {"early_stopping", "pretrained_embedding"}
    params = dict(fields_of(stored, "params of the HANClassifier", [], known))
    vectors = params.pop("pretrained_embedding", "cooccurrence")
    if vectors == {"array": "pretrained_embedding"}:
        arrays["embedding_init"] = _popped(arrays, "pretrained_embedding")
        vectors = {"array": "embedding_init"}
    # Models older than the parameter were trained without noise.
    now: dict[str, Any] = {"adversarial_noise": 0.0}
    now["embedding_init"] = "random" if vectors is None else vectors
    if params.pop("early_stopping", True) is False:
        params["validation_fraction"] = None
    net_params = from_plain(params.pop("net_params", None)) or {}
    if not isinstance(net_params, dict):
        raise ValueError("net_params of the HANClassifier are no dict")
    for name, (new, default) in _IN_NET_PARAMS.items():
        value = from_plain(params.pop(name, default))
        if value != default:
            net_params = {new: value} | net_params
    now["net_params"] = to_plain(net_params or None)
    for name, new in _RENAMED.items():
        if name in params:
            now[new] = params.pop(name)
    options = _options({name: params.pop(name) for name in _NETWORK if name in params})
    for name, value in options.get_params(deep=False).items():
        if name != "embedding_dropout":
            now[name] = to_plain(value)
    return now | params


_KEPT = {
    "adversarial_noise",
    "batch_size",
    "callbacks",
    "class_weight",
    "device",
    "freeze_embedding",
    "lr",
    "lr_schedule",
    "max_epochs",
    "net_params",
    "optimizer",
    "random_state",
    "tokenizer",
    "validation_fraction",
    "verbose",
    "warm_start",
    "weight_averaging",
}


def _options(stored: dict[str, Any]) -> NetworkOptions:
    """Return the options of a network, checked."""
    given = _NETWORK | {name: from_plain(value) for name, value in stored.items()}
    rnn = RNN(
        cell=given["rnn"],
        num_layers=given["num_layers"],
        bidirectional=given["bidirectional"],
    )
    attention: dict[str, Any] = {
        "size": given["attention_dim"],
        "normalizer": given["attention"],
        "diversity_penalty": given["diversity_penalty"],
    }
    pooling: Any = given["pooling"]
    if pooling == "attention" and given["context"] is not None:
        pooling = ContextAttention(
            **attention,
            direction=given["context"],
            summary=given["context_pooling"],
            gated=given["context_gated"],
        )
    elif pooling == "attention" and given["attention_hops"] != 1:
        hops, penalty = given["attention_hops"], given["hop_penalty"]
        pooling = MultiHopAttention(**attention, hops=hops, penalty=penalty)
    elif pooling == "attention":
        pooling = Attention(**attention)
    options = NetworkOptions(
        embedding_dim=given["embedding_dim"],
        word_hidden=given["word_hidden"],
        sentence_hidden=given["sentence_hidden"],
        rnn=rnn,
        pooling=pooling,
        dropout=given["dropout"],
        word_dropout=given["word_dropout"],
        embedding_dropout=given["embedding_dropout"],
    )
    options.check()
    if rnn == RNN(cell=rnn.cell):
        options.rnn = rnn.cell
    if pooling == Attention():
        options.pooling = "attention"
    return options


def _fitted(stored: Any, arrays: Arrays) -> dict[str, Any]:
    names = ["classes", "tokenizer", "history", "device", "network", "ngrams", "logit_scales"]
    fitted = fields_of(stored, "the fitted classifier", names)
    network = from_plain(fitted["network"])
    if not isinstance(network, dict):
        raise ValueError("its network is no dict")
    network = {str(name).removeprefix("module__"): value for name, value in network.items()}
    optional = {"freeze_embedding", "max_words", "sparse", "unknown_id", "valid_batch_size"}
    sizes = ["vocabulary_size", "n_classes"]
    network = fields_of(network, "the network", sizes, {*_NETWORK, *optional})
    options = _options({n: to_plain(v) for n, v in network.items() if n in _NETWORK})
    ngrams = None
    if fitted["ngrams"] is not None:
        stored_ngrams = fields_of(fitted["ngrams"], "the n-gram model", ["ngram_range"])
        names = ["buckets", "ratios", "weights", "intercept"]
        for name in names:
            arrays[f"ngram_model.{name}"] = _popped(arrays, f"ngrams.{name}")
        ngrams = stored_ngrams | {name: {"array": f"ngram_model.{name}"} for name in names}
    others = ("classes", "embedding_init")
    weights = [n for n in arrays if n not in others and not n.startswith("ngram_model.")]
    for name in weights:
        arrays[f"network.weights.{name}"] = arrays.pop(name)
    scales = fitted["logit_scales"]
    if not isinstance(scales, list) or len(scales) != (1 if ngrams is None else 2):
        raise ValueError("its logit_scales must be one number for each model")
    classes = fitted["classes"]
    return {
        "classes": {"labels": classes} if isinstance(classes, list) else classes,
        "tokenizer": fitted["tokenizer"],
        "network": {
            "state": {
                "vocabulary_size": network["vocabulary_size"],
                "n_classes": network["n_classes"],
                "max_words": network.get("max_words", 131_072),
                "valid_batch_size": network.get("valid_batch_size", 256),
                "options": {"state": _as_state(options.to_plain())},
                "weights": {"state": {n: {"array": f"network.weights.{n}"} for n in weights}},
            }
        },
        "ngram_model": None if ngrams is None else {"state": ngrams},
        "network_scale": _as_float(scales[0]),
        "ngram_scale": 0.0 if ngrams is None else _as_float(scales[1]),
        "history": fitted["history"],
        "best_epoch": None,
        "best_score": None,
        "device": fitted["device"],
    }


def _as_state(plain: dict[str, Any]) -> dict[str, Any]:
    """Wrap the objects inside options as `save` wraps those of a fitted state."""
    return {
        name: {"state": _as_state(value)} if isinstance(value, dict) else value
        for name, value in plain.items()
    }


def _as_float(number: Any) -> Any:
    return float(number) if type(number) is int else number


def _popped(arrays: Arrays, name: str) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"it lacks the entry {name + '.npy'!r}")
    return arrays.pop(name)
