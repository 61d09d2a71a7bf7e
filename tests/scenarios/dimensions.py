"""The dimensions of a scenario and their values: a feature is done when it has its line here.

The first value of a dimension is its default. A value has a name, and is what the parameter is set
to, or (`Made`) makes that from the scenario's data. `tests.scenarios.running` says what is done
with the dimensions that are no parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import GaussianRandomProjection
from skorch.callbacks import EpochScoring

from sk_han import (
    RNN,
    Attention,
    HierarchicalTokenizer,
    MultiHopAttention,
    StopAfter,
    StopOnInterrupt,
)
from tests.encoders_of_sentences import NAMED, SessionEncoder
from tests.opinions import Thesaurus
from tests.scenarios import corpus, doors
from tests.scenarios.drawing import Scenario


class Data(NamedTuple):
    """What a value may depend on."""

    texts: list[str]  # unlabelled ones too
    classes: list[Any]  # distinct labels, the first document's first; or those of the columns
    tokenizer: HierarchicalTokenizer  # not fitted
    embedding_dim: int
    folder: str


class Made(NamedTuple):
    """A value that is made from the data of a scenario."""

    of: Callable[[Data], Any]


def _named(*values: Any) -> dict[str, Any]:
    return {str(value): value for value in values}


def _vectors(data: Data) -> np.ndarray:
    n_words = max(data.tokenizer.fit(data.texts).vocabulary_.values()) + 1
    vectors = np.random.default_rng(0).normal(size=(n_words, data.embedding_dim))
    return vectors.astype(np.float32)


def _words(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(word for text in texts for word in text.lower().split()))


def _shares(classes: list[Any]) -> dict[Any, float]:
    total = len(classes) * (len(classes) + 1) / 2
    return {label: number / total for number, label in enumerate(classes, start=1)}


def sentences_of(text: str) -> list[str]:
    return re.findall(r"[^.]+\.?", text)


def words_of(sentence: str) -> list[str]:
    return sentence.lower().split()


def stems_of(sentence: str) -> list[str]:
    return [word.lower()[:3] for word in sentence.split()]


def without_accents(word: str) -> str:
    return word.replace("é", "e")


ENCODERS = {
    "object": "tests.opinions:Thesaurus",
    "object that cannot be pickled once used": "tests.encoders_of_sentences:SessionEncoder",
    "module:Name": NAMED,
}

# Of HANClassifier and HANRegressor. Layers have other sizes each, so that they are not confused.
PARAMETERS: dict[str, dict[str, Any]] = {
    "encoder": {
        "None": None,
        "object": Thesaurus(),
        "object that cannot be pickled once used": Made(lambda data: SessionEncoder()),
        "module:Name": NAMED,
        "fitted transformer": make_pipeline(
            TfidfVectorizer(analyzer="char"), GaussianRandomProjection(2, random_state=0)
        ),
    },
    "encoder_memory": {"None": None, "folder": Made(lambda data: data.folder)},
    "embedding_dim": _named(7, 1),
    "embedding_init": {
        "cooccurrence": "cooccurrence",
        "random": "random",
        "mapping": Made(lambda data: {w: np.ones(data.embedding_dim) for w in ("good", "bad")}),
        "array": Made(_vectors),
    },
    "freeze_embedding": _named(False, True, 1),
    "word_hidden": _named(5, 1),
    "sentence_hidden": _named(3, 1),
    "rnn": {
        "gru": "gru",
        "lstm": "lstm",
        "rnn": "rnn",
        "two layers": RNN(num_layers=2),
        "one direction": RNN(bidirectional=False),
        "two layers of lstm in one direction": RNN(cell="lstm", num_layers=2, bidirectional=False),
    },
    "pooling": {
        "Attention": Attention(size=4),
        "attention": "attention",
        "mean": "mean",
        "max": "max",
        "last": "last",
        "MultiHopAttention": MultiHopAttention(size=4, hops=2),
        "Attention of each label": Attention(size=4, per_label=True),
    },
    "dropout": _named(0.3, 0.0),
    "word_dropout": _named(0.1, 0.0),
    "adversarial_noise": _named(0.03, 0.0),
    "linear_ngrams": _named((1, 3), (1, 1), (2, 2), None),
    "linear_chars": _named("auto", (2, 5), (1, 1), None),
    "optimizer": _named("adamw", "adam", "sgd") | {"Adagrad": torch.optim.Adagrad},
    "lr": _named(0.006, 0.0001),
    "lr_schedule": _named("one_cycle", "constant"),
    "max_epochs": _named(1, 2, "auto"),
    "batch_size": _named("auto", 1, 7, 1000),
    "class_weight": {
        "None": None,
        "balanced": "balanced",
        "of all classes": Made(lambda data: dict.fromkeys(data.classes, 2.0)),
        "of one class": Made(lambda data: {data.classes[0]: 3}),
        "of both sides": Made(lambda data: [{0: 1, 1: 2.5} for _ in data.classes]),
    },
    "threshold": {
        "0.5": 0.5,
        "0.3": 0.3,
        "f1": "f1",
        "array": Made(lambda data: np.linspace(0.2, 0.8, len(data.classes))),
        "list": Made(lambda data: [0.4 for _ in data.classes]),
    },
    "priors": {
        "None": None,
        "of all classes": Made(lambda data: _shares(data.classes)),
        "of one label": Made(lambda data: {data.classes[0]: 0.3}),
    },
    "ordered": _named(False, True),
    "n_bins": _named("auto", 2, 5),
    "scale": _named("linear", "log"),
    "validation_fraction": _named(0.1, None, 0.5),
    "n_iter_no_change": _named(None, 1),
    "time_limit": _named(None, 3600.0),
    "random_state": {"0": 0, "RandomState": np.random.RandomState(7), "None": None},
    "device": _named("cpu", "auto", "cuda"),
    "callbacks": {
        "None": None,
        "EpochScoring": [EpochScoring("accuracy", name="accuracy")],
        "stopping": [StopAfter(3600.0), StopOnInterrupt()],
    },
    "net_params": {
        "None": None,
        "clip_norm": {"clip_norm": None},
        "label_smoothing": {"criterion__label_smoothing": 0.1},
        "embedding_dropout": {"module__embedding_dropout": 0.2},
        "excerpt_words": {"excerpt_words": 4},
        "max_words": {"module__max_words": 3},
        "noise_every": {"noise_every": 1},
        "valid_batch_size": {"valid_batch_size": 3},
        "weight_decay": {"optimizer__weight_decay": 0.0},
    },
    "engine": _named("auto", "torch"),
    "n_threads": _named(None, 1),
    "verbose": _named(0, 1, 2),
}

# Of HierarchicalTokenizer, under these names behind tokenizer__.
TOKENIZER: dict[str, dict[str, Any]] = {
    "lowercase": _named(True, False),
    "strip_accents": _named(None, "ascii", "unicode") | {"function": without_accents},
    "tokens": _named("words+marks", "words", "web"),
    "token_pattern": _named(None, r"\w+", r"(\w)\w*"),
    "stop_words": _named(None, "english", ["the", "a", "."]),
    "min_df": _named(1, 2, 0.05),
    "max_features": _named(None, 6),
    "max_sentences": _named(None, 1),
    "max_words": _named(None, 2),
    "vocabulary": {
        "None": None,
        "list": Made(lambda data: _words(data.texts)),
        "mapping": Made(lambda data: {w: 2 + 3 * i for i, w in enumerate(_words(data.texts))}),
    },
    "sentence_splitter": {"None": None, "function": sentences_of},
    "word_tokenizer": {
        "None": None,
        "str.split": str.split,
        "function": words_of,
        "stems": stems_of,
    },
    "n_jobs": _named(None, 1),
    "output": _named("ragged", "padded"),
}

# What is no parameter: what is learnt from, what learns, how, and what is done with it then.
_REST: dict[str, list[str]] = {
    "documents": list(corpus.DOCUMENTS),
    "texts": list(corpus.CONTAINERS_OF_TEXTS),
    "index": list(corpus.INDEXES),
    # Those that are least alike; tests/classifier/test_tables.py holds each against each.
    "beside": ["pandas", "pandas, nullable", "JSON", "a title"],
    "classes": [*corpus.CLASSES, *corpus.SEVERAL, *corpus.NUMBERS],
    "labels": list(corpus.LABELS),
    "y": [*corpus.CONTAINERS_OF_LABELS, *corpus.INDICATORS],
    "estimator": [
        "classifier",
        "pipeline",
        "pipeline of two steps before",
        "word ids",
        "padded word ids",
        "sentence vectors",
        "column",
        "table",
        "vectors beside numbers",
        "search",
        "search of a pipeline",
        "calibration",
        "vote",
        "hard vote",
        "stack",
        "one against the rest",
        "threshold",
        "search of a threshold",
    ],
    "learning": [
        "fit",
        "fit twice",
        "clone",
        "warm start",
        "partial_fit",
        "partial_fit behind fit",
        "deep copy",
        "pickle",
    ],
    "weights": ["None", "ones", "some zero", "Series", "list of integers", "wide"],
    "groups": ["None", "list", "array", "Series of strings", "one"],
    "validation": ["None", "list", "as X"],
    "unlabelled": ["None", "list", "generator", "Series", "as X"],
    "explained": list(doors.EXPLAINED),
    "asked": list(doors.ASKED),
    "door": list(doors.DOORS),
    "kept": list(doors.KEPT),
}

# The names of all values, by dimension.
NAMES: dict[str, list[str]] = {
    **_REST,
    **{name: list(values) for name, values in PARAMETERS.items()},
    **{f"tokenizer__{name}": list(values) for name, values in TOKENIZER.items()},
}


# The values of some dimensions: a rule holds of a scenario that has one of them in each.
Rule = dict[str, set[str]]


def when(**values: str | set[str]) -> Rule:
    return {name: v if isinstance(v, set) else {v} for name, v in values.items()}


def _holds(rule: Rule, scenario: Scenario) -> bool:
    return all(scenario.get(name) in values for name, values in rule.items())


def _others(name: str, *values: str) -> set[str]:
    """Return all values of a dimension but these."""
    return set(NAMES[name]) - set(values)


OUTSIDE = {"word ids", "padded word ids", "sentence vectors"}
ALONE = {"classifier", *OUTSIDE}
PIPELINES = {"pipeline", "pipeline of two steps before"}
OF_COLUMNS = {"column", "table", "vectors beside numbers"}
SEARCHES = {"search", "search of a pipeline"}
THRESHOLDS = {"threshold", "search of a threshold"}
FOLDS = {*SEARCHES, *THRESHOLDS, "calibration", "stack"}
OF_WORD_IDS = {*PIPELINES, *OUTSIDE, "search of a pipeline"}
NOT_SAVED = _others("estimator", *ALONE, "pipeline", "table")
VOTES = {"vote", "hard vote", "stack"}
ENSEMBLES = {"calibration", *VOTES}
NOT_EXPLAINED = {"vectors beside numbers", "one against the rest", *THRESHOLDS, *ENSEMBLES}
# Parameters that are no data, which files of `save` hold alone.
NOT_PLAIN = [
    when(callbacks={"EpochScoring", "stopping"}),
    when(optimizer="Adagrad"),
    when(random_state="RandomState"),
    when(embedding_init="mapping"),
    when(tokenizer__strip_accents="function"),
    when(tokenizer__sentence_splitter="function"),
    when(tokenizer__word_tokenizer=_others("tokenizer__word_tokenizer", "None")),
]
PORTIONS = {"partial_fit", "partial_fit behind fit"}
WITH_ENCODER = _others("encoder", "None")
WEIGHTED = _others("weights", "None")
VALIDATED = _others("validation", "None")
WITH_UNLABELLED = _others("unlabelled", "None")
IN_PIPELINE = when(estimator=_others("estimator", *ALONE, *PIPELINES, "table"))
SEVERAL = set(corpus.SEVERAL)
NUMBERS = set(corpus.NUMBERS)
_INDICATORS = set(corpus.INDICATORS)
_FRAMES = {"indicator frame", "polars indicator frame"}
_STRINGS = {"names", "digits", "odd names"}
_NUMBERS = {"whole numbers", "negative numbers", "large numbers"}
_GROUPED = _others("groups", "None")
_IN_ORDER = {"Series of ordered categories", "polars Enum"}
_CHARACTERS = _others("linear_chars", "auto", "None")

_NO_COLUMNS = {"booleans", "whole floats"}
_ONE_LABEL = {*ENSEMBLES, *THRESHOLDS, "vectors beside numbers"}
_BY_NUMBER = {*VOTES, "one against the rest"}
_WITH_LABELS = [when(classes=SEVERAL), when(y=_INDICATORS)]
_OF_ONE = [when(**{name: _others(name, *SEVERAL, *_INDICATORS)}) for name in ("classes", "y")]
_OF_CLASSES = (
    *("target", "a target each", "against", "predicted", "y_true as texts"),
    *("explain_classes", "two classes"),
)
_FOR_LABELS = [
    when(threshold=_others("threshold", "0.5")),
    when(class_weight="of both sides"),
    when(priors="of one label"),
]


def _of_several(**values: str | set[str]) -> list[Rule]:
    return [{**rule, **when(**values)} for rule in (*_WITH_LABELS, *_FOR_LABELS)]


# What cannot come together, and why: what a signature or scikit-learn leaves out, not what fails.
ILLEGAL: dict[str, list[Rule]] = {
    "there is no GPU, or SK_HAN_TEST_GPU does not show it": (
        [] if torch.cuda.is_available() else [when(device="cuda")]
    ),
    "scikit-learn clones what is inside": [
        when(
            learning="warm start",
            estimator=_others("estimator", *ALONE, *PIPELINES, "column", "table"),
        )
    ],
    "only a table has columns beside its texts": [
        when(beside=_others("beside", "pandas"), estimator=_others("estimator", "table"))
    ],
    "they have no partial_fit": [when(learning=PORTIONS, estimator=_others("estimator", *ALONE))],
    "partial_fit takes none": [when(learning="partial_fit", validation=VALIDATED)],
    "documented refusal": [
        when(learning=PORTIONS, class_weight="balanced"),
        when(learning=PORTIONS, priors=_others("priors", "None")),
        when(learning=PORTIONS, encoder=WITH_ENCODER),
        when(learning=PORTIONS, estimator="sentence vectors"),
        when(encoder=WITH_ENCODER, estimator=OF_WORD_IDS),
    ],
    "others have no validation documents, and folds may lack their classes": [
        when(validation=VALIDATED) | IN_PIPELINE
    ],
    "scikit-learn does not hand them on": [
        when(
            unlabelled=WITH_UNLABELLED,
            estimator=_others("estimator", *ALONE, *PIPELINES, *SEARCHES, "table"),
        )
    ],
    "an iterator can be read once": [when(unlabelled="generator", estimator=PIPELINES | SEARCHES)],
    "each of two folds needs a document of each class": [
        when(estimator=FOLDS, classes={"one", "one with a document", "two documents"})
    ],
    "scikit-learn's models need two classes": [
        when(estimator={"vectors beside numbers", "one against the rest"}, classes="one")
    ],
    "a threshold is for two classes": [
        when(
            estimator=THRESHOLDS,
            classes={"three", "many", "some with two to three documents"},
            labels=_others("labels", "booleans"),
        )
    ],
    "its scorer is asked for weights": [when(estimator="threshold", weights=WEIGHTED)],
    "the vocabulary is not known before": [
        when(embedding_init="array", estimator=FOLDS),
        when(embedding_init="array", learning="partial_fit"),
    ],
    "the largest id that is left after cutting tells the size of the vocabulary": [
        when(embedding_init="array", estimator="padded word ids")
    ],
    "documented: ids are no words": [when(embedding_init="mapping", estimator=OF_WORD_IDS)],
    "no word is in both": [when(classes="two documents", tokenizer__min_df="2")],
    "documented refusal, as scikit-learn's scores refuse them": [
        when(
            y={"array of objects", "Series of objects"},
            labels=_others("labels", "names", "digits", "odd names"),
        )
    ],
    "scikit-learn hands on the numbers of classes, and no names": [
        when(class_weight={"of all classes", "of one class"}, estimator=_BY_NUMBER),
        when(priors="of all classes", estimator=_BY_NUMBER),
    ],
    "scikit-learn does not select rows from strings of Arrow outside of a Series": [
        when(estimator=FOLDS, texts={"array of pandas", "Index"}),
        when(estimator=FOLDS, y="Index"),
    ],
    "it learns on without them, and has another vocabulary": [
        when(embedding_init="array", kept="learn on", unlabelled=WITH_UNLABELLED)
    ],
    "scikit-learn takes a tuple for several collections": [
        when(texts="tuple", estimator=PIPELINES | SEARCHES, unlabelled="as X"),
        when(texts="tuple", estimator=PIPELINES, validation="as X"),
    ],
    "skops knows no metadata requests": [
        when(kept="skops", weights=WEIGHTED),
        when(kept="skops", groups=_GROUPED),
        when(kept="skops", validation=VALIDATED),
        when(kept="skops", unlabelled=WITH_UNLABELLED),
    ],
    "tables hold texts alone": [when(kept={*doors.OF_TABLES}, estimator=OUTSIDE | OF_COLUMNS)],
    "a number has no classes": [
        when(classes=NUMBERS, **{name: _others(name, next(iter(PARAMETERS[name])))})
        for name in ("class_weight", "threshold", "priors", "ordered")
    ],
    "scikit-learn's estimators around it are classifiers": [
        when(
            classes=NUMBERS,
            estimator={*ENSEMBLES, *THRESHOLDS, "one against the rest", "vectors beside numbers"},
        )
    ],
    "its scorer counts classes": [when(classes=NUMBERS, callbacks="EpochScoring")],
    "numbers are named by themselves": [
        when(classes=NUMBERS, labels=_others("labels", "names")),
        when(classes=NUMBERS, y={"Series of categories", *_IN_ORDER}),
    ],
    "they name classes": [
        when(
            classes=NUMBERS,
            explained={*_OF_CLASSES},
        ),
        when(classes=NUMBERS, asked="report of labels as texts"),
        when(classes=NUMBERS, kept="another mix"),
    ],
    "classes have no bins and no scale": [
        when(classes=_others("classes", *NUMBERS), n_bins=_others("n_bins", "auto")),
        when(classes=_others("classes", *NUMBERS), scale="log"),
    ],
    "several labels have a column each, and one label has one": [
        when(classes=SEVERAL, y=_others("y", *_INDICATORS)),
        when(classes=_others("classes", *SEVERAL), y=_INDICATORS),
    ],
    "columns without names are numbered": [
        when(y=_INDICATORS - _FRAMES, labels=_others("labels", "whole numbers"))
    ],
    "names of columns are strings or integers, of polars strings": [
        *_of_several(labels=_NO_COLUMNS),
        when(y="polars indicator frame", labels=_NUMBERS),
    ],
    "documented: an order is for one class a document": [
        *_of_several(ordered="True"),
    ],
    "documented: scikit-learn's calibration sorts strings": [
        when(estimator="calibration", y=_IN_ORDER, ordered="True")
    ],
    "an Enum is of strings": [when(y="polars Enum", labels=_others("labels", *_STRINGS))],
    "documented: they are for several labels": [
        *(rule | one for rule in _FOR_LABELS for one in _OF_ONE),
    ],
    "scikit-learn has them for one label alone": [
        rule | when(estimator=_ONE_LABEL) for rule in _WITH_LABELS
    ],
    "it fits a label at a time": [
        rule | when(estimator={*_ONE_LABEL, "one against the rest"}) for rule in _FOR_LABELS
    ],
    "scikit-learn hands them on to its last model, too": [
        when(estimator="stack", groups=_GROUPED),
    ],
    "partial_fit holds nothing out": [when(learning="partial_fit", groups=_GROUPED)],
    "it takes too long": [
        when(max_epochs="auto", batch_size="1"),
        when(max_epochs="auto", estimator=FOLDS | ENSEMBLES),
        when(max_epochs="auto", documents="long"),
    ],
}


def is_legal(scenario: Scenario) -> bool:
    """Return whether values may come together; dimensions that are not named do not count."""
    return not any(_holds(rule, scenario) for rules in ILLEGAL.values() for rule in rules)


ILLEGAL["what does not go with a table does not go with its columns"] = [
    when(beside=_others("beside", "pandas"), **{name: value})
    for name, values in NAMES.items()
    for value in values
    if name not in ("estimator", "beside") and not is_legal({"estimator": "table", name: value})
]

ILLEGAL["what does not go with numbers does not go with their bins and scale"] = [
    when(**{own: own_values}, **{name: value})
    for own, own_values in (("n_bins", _others("n_bins", "auto")), ("scale", "log"))
    for name, values in NAMES.items()
    for value in values
    if name not in ("classes", own) and not is_legal({"classes": "numbers", name: value})
]


# Left to the thorough suite, where they come in few scenarios: several fits, many steps, tenths of
# a second each, or a GPU.
SLOW: dict[str, set[str]] = {
    "estimator": {*SEARCHES, "search of a threshold", "stack"},
    "classes": _others(
        *("classes", "two", "three", "one", "one with a document", "numbers"),
        *(SEVERAL - {"many labels"}),
    ),
    "documents": {"long"},
    "max_epochs": {"2", "auto"},
    "batch_size": {"1"},
    "device": {"cuda"},
    "explained": {"explain_classes"},
    "asked": {
        "report",
        "report with training documents",
        "report of groups",
        "report of slices",
        "faithfulness_report",
        "audit_labels",
    },
    "door": {"plot"},
    "kept": {"skops", "command line report", "command line fit"},
}


FITS = "begin|fit|ask audit_labels"
_FEWEST = {"two documents", "one with a document"}
_VECTORS = when(estimator="sentence vectors")
_NOT_SERVED = _others("pooling", "Attention", "attention", "Attention of each label")


class Refusal(NamedTuple):
    """A documented error of a step."""

    step: str
    when: Rule
    message: str

    def holds(self, step: str, scenario: Scenario, error: Exception) -> bool:
        return bool(
            re.fullmatch(self.step, step)
            and _holds(self.when, scenario)
            and isinstance(error, _ERRORS)
            and re.search(self.message, str(error))
        )


_ERRORS = (AttributeError, RuntimeError, TypeError, ValueError)
_ALONE = "no other class can be suggested"
_BY_SCORER = r"keep (Scorer|command line( report)?)"
_AS_IN_PYTORCH = r"a Scorer computes only rnn='gru' with .*: sk_han\.load reads"
_WITHOUT_WORDS = "word ids without their words"
REFUSALS: list[Refusal] = [
    Refusal(FITS, when(tokenizer__min_df={"2", "0.05"}), "no terms remain"),
    # A column may happen to have the labels of few documents, or of one class.
    Refusal(FITS, when(estimator="table", classes={"one", "two documents"}), "holds the labels"),
    # Of two documents the first portion may be the empty one.
    Refusal(
        FITS,
        when(learning="partial_fit", classes="two documents", documents="some empty"),
        "empty vocabulary",
    ),
    Refusal(FITS, when(unlabelled="generator", time_limit="3600.0"), "is an iterator"),
    Refusal("ask faithfulness_report", _VECTORS, "words cannot be left out"),
    Refusal("keep .*", when(encoder="fitted transformer"), "is fitted to sentences"),
    Refusal(FITS, when(linear_chars=_CHARACTERS, estimator="padded word ids"), _WITHOUT_WORDS),
    Refusal(
        FITS,
        when(linear_chars=_CHARACTERS, estimator=OF_WORD_IDS, tokenizer__output="padded"),
        _WITHOUT_WORDS,
    ),
    Refusal("(explain|ask) .*", when(estimator=NOT_EXPLAINED), "needs a HANClass"),
    Refusal("keep .*", when(estimator=NOT_SAVED), r"sk_han\.save takes"),
    Refusal(
        "ask (report.*|selective_threshold|coarser)",
        when(estimator="hard vote"),
        "A hard vote has no proba",
    ),
    Refusal("ask selective_threshold", when(classes=SEVERAL), "these are several"),
    Refusal(
        "ask (selective_threshold|coarser|audit_labels)", when(classes=NUMBERS), "predicts a number"
    ),
    Refusal(
        "ask coarser", when(classes=SEVERAL), "takes one class per document|not know the classes"
    ),
    Refusal("ask drift", when(), "None of the documents has a word|drift needs a HANClass"),
    Refusal("ask coarser", when(), "no group of several classes"),
    # Of those that are cut off by max_words, or whose words are unknown.
    Refusal("ask (selective_threshold|coarser)", when(), "words of a training|too few"),
    Refusal("ask audit_labels", when(estimator="hard vote"), "Classifier has none"),
    Refusal("ask report of groups", when(classes="two documents"), "are of one group, 0"),
    Refusal("ask audit_labels", when(classes={"one", "one with a document"}), _ALONE),
    Refusal(
        "ask audit_labels",
        when(documents="a word"),
        f"{_ALONE}|needs samples of at least 2 classes|which are 1 here",
    ),
    Refusal("ask audit_labels", when(classes="two documents"), "the only one of its"),
    # Of two documents a class, a fold leaves one.
    Refusal(FITS, when(classes="many"), "have a single one"),
    # Four fifths of the documents may lack what a parameter or a wrapper needs.
    Refusal("ask audit_labels", when(class_weight="of one class"), "are not classes"),
    Refusal("ask audit_labels", when(priors="of all classes"), "is not a class;"),
    Refusal("ask audit_labels", when(embedding_init="array"), "has the shape"),
    Refusal("ask audit_labels", when(estimator="threshold"), "with two classes"),
    Refusal("ask audit_labels", when(estimator=FOLDS), "cross-validation but provided"),
    Refusal(FITS, when(estimator="threshold"), "makes constant predictions"),
    Refusal("explain against", when(classes=SEVERAL), "do not exclude each other"),
    Refusal("explain against", when(classes="one"), "the model knows no other class"),
    Refusal("keep another mix", when(), "with_priors needs a HANClassifier"),
    Refusal("ask drift|keep another mix", when(learning=PORTIONS), "partial_fit sees portions"),
    Refusal("keep skops", when(tokenizer__word_tokenizer="str.split"), "builtins"),
    # It learns on without weights, from all words.
    Refusal("keep learn on", when(embedding_init="array", weights="some zero"), "has the shape"),
    Refusal("keep command line.*", when(labels="odd names"), "has a 'label'|without a label"),
    # Of "many" 13 documents would be held out, for 22 labels.
    Refusal(
        "keep command line fit", when(classes={*_FEWEST, "many"}), "too few to hold some of each"
    ),
    Refusal(
        FITS,
        when(ordered="True", labels={"names", "odd names"}, y=_others("y", *_IN_ORDER)),
        "ordered=True needs an order of the classes",
    ),
    Refusal(
        f"{FITS}|keep learn on", when(embedding_init="mapping"), "No word of the vocabulary has"
    ),
    Refusal(
        "keep (Scorer|command line( report)?)", when(rnn=_others("rnn", "gru")), _AS_IN_PYTORCH
    ),
    Refusal(_BY_SCORER, when(pooling=_NOT_SERVED), _AS_IN_PYTORCH),
    *(Refusal("keep .*", rule, "cannot be saved") for rule in NOT_PLAIN),
]


class Expected(NamedTuple):
    """A warning that tells a user what a scenario is about."""

    when: Rule
    message: str

    def holds(self, scenario: Scenario, message: str) -> bool:
        return _holds(self.when, scenario) and re.search(self.message, message) is not None


_FEW = {"one with four documents", "many", "some with two to three documents"}
_PADDED = "it holds 0 .padding. and 1 .the unknown word. alone"
WARNINGS: list[Expected] = [
    # Of four documents a fold may have one.
    Expected(when(classes={*_FEW, "one with a document", "two documents"}), "a single document: "),
    # So may it of seven, two of which count for nothing.
    Expected(when(estimator=FOLDS, weights="some zero"), "a single document: "),
    # Of a class, or a label against the rest, it may be the only one.
    Expected(when(classes=_FEW), "fewer than 5 documents: "),
    Expected(when(classes="one"), "The labels hold a single class"),
    Expected(when(classes="one number"), "All numbers in y are"),
    # A half of the documents has other ends.
    Expected(when(classes=NUMBERS), "outside of the range of the first fit"),
    Expected(when(labels="odd names"), "capitals or code points alone: (''|' ') and (''|' ')"),
    Expected(when(labels="odd names"), "look like missing values, and are learnt as any others: '"),
    Expected(when(labels="odd names"), "is learnt as one label, and looks like several: "),
    Expected(when(), "no words, in row"),
    Expected(when(), "p-values of novelty are NaN"),
    # Of a short vocabulary, or of the first words, documents of two classes are the same.
    Expected(when(), "the same words as one with another label"),
    Expected(when(groups="one"), "All documents are of one group"),
    Expected(when(groups="list", classes="two documents"), "All documents are of one group"),
    Expected(when(groups=_GROUPED), "No document is held out: .* groups, which stay whole"),
    Expected(when(classes="labels of no document and of all"), "labels cannot be learnt, since"),
    # It makes two classes of each label.
    Expected(
        when(classes=SEVERAL, estimator="one against the rest"),
        "a single document: |fewer than 5 documents: |is present in all training examples|"
        "X does not have valid feature names, but _ConstantPredictor",
    ),
    # A half has none of the documents of a label.
    Expected(when(classes=SEVERAL, estimator=SEARCHES), "labels cannot be learnt, since"),
    Expected(when(y="frame"), r"A column-vector \w+ was passed"),
    # What it counted of so many is not kept after fit.
    Expected(
        when(classes="many labels", learning="partial_fit behind fit"),
        "The n-gram model of .* stays as it is",
    ),
    Expected(when(n_iter_no_change="1"), "n_iter_no_change=1 has no effect"),
    # Of few documents, of one group, or of a fit that goes on, none is held out either.
    Expected(when(threshold="f1"), "threshold='f1' needs documents that are new to the model"),
    # An epoch or two of tiny networks: what they learn is not the question.
    Expected(when(), "The network is useless: |The model is no better than chance: "),
    Expected(when(estimator=FOLDS), "The least populated class in y has only"),
    Expected(when(estimator="vectors beside numbers"), "The network has memorized the documents"),
    # scikit-learn's regression behind the vectors is sure of weights of 1e6.
    Expected(when(estimator="vectors beside numbers", weights="wide"), "divide by zero encounter"),
    *(
        Expected(rule, "method='attention' shows the network alone")
        for rule in (when(explained="attention"), when(kept={"Scorer", "command line"}))
    ),
    Expected(when(door="plot"), "Glyph .* missing from font"),
    Expected(when(tokenizer__output="padded"), _PADDED),
    Expected(when(estimator="padded word ids"), _PADDED),
]
