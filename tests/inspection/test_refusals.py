"""What functions of inspection refuse: what was given, what was expected, and the repair.

The key of a row is what the error says, its value what differs from a call that is right.
"""

import re
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from sk_han import (
    DocumentArray,
    HierarchicalTokenizer,
    audit_labels,
    coarser,
    explain,
    explain_classes,
    explain_iter,
    faithfulness_report,
    report,
    selective_threshold,
    summarize,
)
from tests.tiny_models import LABELS, TEXTS, fitted_classifier, fitted_pipeline, tiny
from tests.tiny_pairs import pairs
from tests.tiny_pairs import tiny as tiny_translator
from tests.tiny_sentences import X as SENTENCES
from tests.tiny_sentences import Y as TAGS
from tests.tiny_sentences import tiny_tagger

HELD_OUT = [f"{text} Then it was day {i}." for i, text in enumerate(TEXTS * 5)]
Y = np.tile(LABELS, 5)
SEVERAL = pd.DataFrame({"neg": LABELS == "pos", "pos": np.arange(18) % 3 > 0}).astype(int)
LINEAR = make_pipeline(TfidfVectorizer(), LogisticRegression())
MEMBERS = [("one", tiny()), ("two", tiny())]
SAME = FunctionTransformer()


def reading_order(estimator, X):
    return [-np.arange(len(e.words), dtype=float) for e in explain(estimator, X)]


def changed(row, scores, estimator, X):
    found = reading_order(estimator, X)
    return [*found[:row], scores, *found[row + 1 :]]


def by_hand(row, scores):
    return {"methods": {"own": partial(changed, row, np.array(scores, dtype=float))}}


def of_one_class():
    with pytest.warns(UserWarning, match="single class"):
        return tiny().fit(TEXTS, ["pos"] * 18)


class Divided(LogisticRegression):
    def predict_proba(self, X):
        return super().predict_proba(X) * np.where(np.arange(X.shape[0]) < 2, np.nan, 1)[:, None]


MODELS = {
    "nan": lambda: make_pipeline(TfidfVectorizer(), Divided()).fit(TEXTS, LABELS),
    "one": fitted_classifier,
    "pipeline": fitted_pipeline,
    "one class": of_one_class,
    "several": lambda: tiny().fit(TEXTS, SEVERAL),
    "unfitted": tiny,
    "unfitted pipeline": lambda: make_pipeline(HierarchicalTokenizer(), tiny()),
    "step": lambda: make_pipeline(HierarchicalTokenizer(), SAME, tiny()).fit(TEXTS, LABELS),
    "linear": lambda: LINEAR.fit(TEXTS, LABELS),
    "unfitted linear": LogisticRegression,
    "svc": lambda: make_pipeline(TfidfVectorizer(), LinearSVC()).fit(TEXTS, LABELS),
    "hard": lambda: VotingClassifier(MEMBERS).fit(TEXTS, LABELS),
    "hard pipeline": lambda: make_pipeline(SAME, VotingClassifier(MEMBERS)).fit(TEXTS, LABELS),
    "vote": lambda: VotingClassifier(MEMBERS, voting="soft").fit(TEXTS, LABELS),
    "stack": lambda: make_pipeline(SAME, StackingClassifier(MEMBERS[:1], cv=2)).fit(TEXTS, LABELS),
    "calibration": lambda: CalibratedClassifierCV(tiny(), cv=2).fit(TEXTS, LABELS),
    "threshold": lambda: FixedThresholdClassifier(tiny(), threshold=0.4).fit(TEXTS, LABELS),
    "search": lambda: GridSearchCV(tiny(), {"lr": [0.01]}, cv=2, refit=False).fit(TEXTS, LABELS),
    "tables": lambda: make_pipeline(
        TfidfVectorizer(), MultiOutputClassifier(KNeighborsClassifier())
    ).fit(TEXTS, SEVERAL),
    "tagger": lambda: tiny_tagger(max_epochs=1).fit(SENTENCES, TAGS),
    "taggers": lambda: GridSearchCV(tiny_tagger(max_epochs=1), {"lr": [0.01]}, cv=2).fit(
        SENTENCES, TAGS
    ),
    "translator": lambda: tiny_translator(max_epochs=1).fit(*pairs()),
}
MISSING = [*TEXTS[:10], None, *TEXTS[11:]]
WORD_IDS = DocumentArray.from_nested([[[2, 3]]])
SHORT = iter(TEXTS[:2])
RIGHT = {
    explain: {"X": TEXTS},
    explain_iter: {"X": TEXTS},
    explain_classes: {"X": TEXTS},
    summarize: {"X": TEXTS},
    faithfulness_report: {"X": TEXTS, "methods": {"first": reading_order}, "random_state": 0},
    report: {"X": HELD_OUT, "y": Y},
    audit_labels: {"estimator": "linear", "X": TEXTS, "y": LABELS},
    selective_threshold: {"X": HELD_OUT, "y": Y},
    coarser: {"X": HELD_OUT, "y": Y, "tree": {"neg": [], "pos": []}},
}
REFUSED = {
    explain: {
        "between tokenizer and classifier": {"estimator": "step"},
        "This HANClassifier instance is not fitted": {"estimator": "unfitted"},
        "not fitted": {"estimator": "unfitted pipeline"},
        "explain needs a HANClassifier": {"estimator": "linear"},
        "LogisticRegression instance is not fitted": {"estimator": "unfitted linear"},
        "GridSearchCV holds no fitted model, since refit=False": {"estimator": "search"},
        r"got FixedThreshold.* give its estimator_": {"estimator": "threshold"},
        r"VotingClassifier\. Take one.* named_estimators_\['one'\]; there a class is "
        "its number": {"estimator": "vote"},
        r"StackingClassifier\. Take one of its members": {"estimator": "stack"},
        r"explain needs .* calibrated_classifiers_\[0\]\.est": {"estimator": "calibration"},
        "SequenceTagger.*tagged_html": {"estimator": "tagger"},
        "explain .*tagged_html": {"estimator": "taggers"},
        "AttentionTranslator.*attention": {"estimator": "translator"},
        "method must be one of .*'random'.*; got 'grad'": {"method": "grad"},
        "method must be one of .*; got None": {"method": None},
        "batch_size must be an integer of at least 1; got 0": {"batch_size": 0},
        "random_state must be an integer >= 0.*1.5": {"random_state": 1.5},
        "random_state must be an integer >= 0.*-1": {"random_state": -1},
        "target is 'good'.*; the classes are 'neg', 'pos'. Give": {"target": "good"},
        r"target\[1\] is 'good'": {"target": ["pos", "good"], "X": TEXTS[:2]},
        r"target.*\{'a': 1\}": {"target": {"a": 1}},
        r"target.*\{'pos'\}.*classes are": {"target": {"pos"}, "X": TEXTS[:1]},
        r"target\[0\] is \['neg', 'pos'\]": {"target": np.array([["neg", "pos"]])},
        "target has 2 labels for 3 documents": {"target": ["pos", "neg"], "X": TEXTS[:3]},
        "target and against are both 'pos'; give two classes": {"target": "pos", "against": "pos"},
        r"against\[1\] is 'good'; the classes are": {"against": ["pos", "good"], "X": TEXTS[:2]},
        "against is 'pos', but the model knows no other": {
            "estimator": "one class",
            "against": "pos",
        },
        "against has 3 labels for 18 documents": {"against": ["neg"] * 3},
        "against is 'neg' and targets 'predicted'": {"against": "neg", "targets": "predicted"},
        "labels here, which do not exclude each other": {"estimator": "several", "against": "neg"},
        "targets must be": {"estimator": "several", "targets": "all"},
        "give one of them": {"target": "pos", "targets": "predicted"},
        "each of 18 documents.*got the shape": {"y_true": LABELS[:7]},
    },
    explain_iter: {
        "against has 3 labels for 1 target": {
            "X": SHORT,
            "target": ["pos"],
            "against": ["neg"] * 3,
        },
        r"string object received.*list: \[text\]": {"X": TEXTS[0]},
        r"string object received": {"X": TEXTS[0].encode(), "target": ["pos"]},
        "target has 3 labels for 2 documents": {"X": SHORT, "target": ["pos"] * 3},
        "target has 1 label for 2 documents or more": {"X": iter(TEXTS[:2]), "target": ["pos"]},
        "Document 10 is missing": {"X": iter(MISSING), "batch_size": 3},
        "targets must be": {"targets": "all"},
    },
    explain_classes: {
        "explain needs a HANClassifier": {"estimator": "linear"},
        "one class or more": {"classes": []},
        "target is 'bed'; the classes are": {"classes": ["bed"]},
        "takes classes in place of target": {"target": "pos"},
        "classes in place of targets": {"targets": "predicted"},
        "compares each class with all others": {"against": "pos"},
        "raw text documents expected; got None": {"X": None},
        "argument 'methods'; the options .* are target, .*method, batch": {"methods": 7},
        r"each of 18 documents.*got the shape \(3,\)": {"y_true": LABELS[:3]},
    },
    summarize: {
        "summarize needs a HANClassifier.* a search of": {"estimator": "linear"},
        "not fitted": {"estimator": "unfitted"},
        "summarize needs .*named_estimators_": {"estimator": "vote"},
        "There are no documents to summarize": {"X": []},
        "got None": {"X": None},
        "string object": {"X": "A good day."},
        **{
            f"{name} must be an integer of at least 1; got {value!r}": {name: value}
            for name in ("k", "max_documents")
            for value in (0, 2.5, True, "3")
        },
    },
    faithfulness_report: {
        "faithfulness_report needs a HANClassifier": {"estimator": "linear"},
        "'own' returned scores for 19 documents; expected 18": by_hand(18, [0]),
        r"scores of shape \(9,\) for document 3, which has 10": by_hand(3, [0] * 9),
        "returned nan for word 1 of document 2": by_hand(2, [0, np.nan, 0, 0, 0]),
        "returned -inf for word 0 of document 2": by_hand(2, [-np.inf, 0, 0, 0, 0]),
        "methods must be a sequence.* Put a single": {"methods": "attention"},
        "methods must be a sequence.*function": {"methods": reading_order},
        "must be the name of a method of explain": {"methods": {"own": 3}},
        "must be the name of a method of explain.*function": {"methods": [reading_order]},
        "must be the name of a method of explain.*got 3: ": {"methods": {3: "attention"}},
        "lime": {"methods": ["lime"]},
        "'own' returned a NoneType": {"methods": {"own": lambda model, X: None}},
        "'random' is the name of the control": {"methods": {"random": "attention"}},
        "string object received": {"X": TEXTS[0]},
        "0 sample": {"X": []},
        "None of the 2 documents has a word": {"X": ["", " "]},
        **{
            rf"numbers in \(0, 1\].*{re.escape(repr(fractions))}": {"fractions": fractions}
            for fractions in ([], [0.0], [0.1, 1.1], [float("nan")], 0.1, ["0.1"])
        },
    },
    report: {
        "of Pipeline gives numbers that are not finite for 2 of 90 doc": {"estimator": "nan"},
        "90 documents in X, 2 labels in y": {"y": Y[:2]},
        "Pass X_train and y_train together": {"X_train": TEXTS},
        "Document 10 of X_train is missing": {"X_train": MISSING, "y_train": LABELS},
        "n_mistakes must be": {"n_mistakes": 0},
        "string": {"X": "one text"},
        "got None": {"X": None, "y": []},
        r"Found 0 sample\(s\)": {"X": [], "y": []},
        "not fitted": {"estimator": "unfitted"},
        "predict_proba; got Pipeline": {"estimator": "svc"},
        r"set_params\(voting='soft'\)": {"estimator": "hard"},
        r"set_params\(voting='soft'\).*": {"estimator": "hard pipeline"},
        "returns no array .* OneVsRestClassifier": {
            "estimator": "tables",
            "X": TEXTS,
            "y": SEVERAL,
        },
        "tagged_html": {"estimator": "tagger", "X": SENTENCES, "y": TAGS},
        "AttentionTranslator.*attention": {"estimator": "translator"},
        "90 documents in X, 2 groups": {"groups": [1, 2]},
        "All documents are of one group, 'same'; intervals": {"groups": ["same"] * 90},
        "missing value at position 89": {"groups": [1.0] * 89 + [np.nan]},
        "ids must name 90 documents; got 1": {"ids": ["one"]},
        "They are 0, 1; the classes are 'neg', 'pos'": {"y": (Y == "pos") * 1},
        "this model predicts one class": {"X": TEXTS, "y": SEVERAL},
        r"an indicator of shape \(n_documents, 2\)": {"estimator": "several"},
        "baseline must be one of": {"baseline": "majority"},
        "baseline is an int; give a fitted classifier, 'tfidf' or None": {"baseline": 3},
        "LogisticRegression instance is not fitted": {"baseline": "unfitted linear"},
        "baseline.*predict_proba": {"baseline": "svc"},
        r"predictions of shape \(90, 2\). It must take": {"baseline": "several"},
    },
    audit_labels: {
        "not finite for 2 of ": {"estimator": "nan"},
        "All labels are 'good', so no other": {"y": ["good"] * 18},
        "each is the only one of its class": {"X": TEXTS[:4], "y": [1, 2, 3, 4]},
        "can be judged are of the class 'good'": {"y": ["good"] * 17 + ["bad"]},
        "X has no documents": {"X": [], "y": []},
        "predict_proba; Pipeline has none": {"estimator": "svc"},
        "inconsistent numbers of samples": {"y": LABELS[:7]},
        "n_explained must be an integer": {"n_explained": -1},
        "string object received": {"X": "one text"},
        "Document 10 is missing": {"X": MISSING},
        "Document 10 is missing.*": {"X": pd.Series(MISSING), "estimator": "one"},
        "returns no array .* OneVsRestClassifier": {"estimator": "tables", "y": SEVERAL},
        "All documents have the same words": {"X": ["A day.", "a day!"] * 9},
        "18 documents in X, 3 groups": {"groups": [1, 2, 3]},
        "one group, 'a'; an audit needs several": {"groups": ["a"] * 18},
        r"params\['sample_weight'\] has 17 values.* of 18 doc": {
            "estimator": "one",
            "params": {"sample_weight": np.ones(17)},
        },
        r"params\['sample_weight'\].*": {
            "estimator": "one",
            "params": {"sample_weight": np.ones((18, 2))},
        },
        "classifier of documents.*SequenceTagger.*tagged_text": {
            "estimator": "tagger",
            "X": SENTENCES,
            "y": TAGS,
        },
    },
    selective_threshold: {
        "18 of 18 documents have the words of a training": {"X": TEXTS, "y": LABELS},
        "18 of 18 documents have the words of a training.*": {
            "estimator": "pipeline",
            "X": TEXTS,
            "y": LABELS,
        },
        "several labels per document": {"estimator": "several"},
        "several labels per document.*": {"X": TEXTS, "y": SEVERAL},
        "selective_threshold needs a fitted classifier .* hard": {"estimator": "hard"},
        **{
            f"{name} must be a number between 0 and 1.*{value!r}": {name: value}
            for name in ("max_error", "confidence_level")
            for value in (0, 1, np.nan, "0.05", True)
        },
    },
    coarser: {
        "no group of several classes": {"tree": "/"},
        "a separator or a dict": {"tree": None},
        "lacks the classes 'neg'": {"tree": {"pos": []}},
        "Did you mean 'pos'": {"tree": {"neg": [], "pos": [], "poss": []}},
        r"tree\['pos'\] is a list": {"tree": {"neg": [], "pos": "all"}},
        "'a' in two places": {"tree": {"neg": ["a"], "pos": ["b", "a"]}},
    },
}


@cache
def model(name):
    return MODELS[name]()


@pytest.mark.parametrize(
    ("function", "said"),
    [(function, said) for function, rows in REFUSED.items() for said in rows],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_a_wrong_argument_is_refused_with_given_and_expected(function, said):
    arguments = {"estimator": "one"} | RIGHT[function] | REFUSED[function][said]
    for name in ("estimator", "baseline"):
        if arguments.get(name) in MODELS:
            arguments[name] = model(arguments[name])
    with pytest.raises((TypeError, ValueError)) as error:
        list(function(**arguments))
    assert re.search(said, str(error.value), re.DOTALL), error.value


@pytest.mark.parametrize("function", [explain, explain_iter, report])
def test_documents_passed_before_the_estimator_are_refused(function):
    further = [LABELS] if function is report else []
    with pytest.raises(TypeError, match="The first argument is a list, which is not an estimator"):
        function(TEXTS, model("one"), *further)
