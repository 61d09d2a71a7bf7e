"""One scenario from its data to its files, and what must hold on the way."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import re
import tempfile
import traceback
import warnings
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sk_han import HANClassifier, HANRegressor, HierarchicalTokenizer, SentenceEmbedder
from sk_han._estimator import HANEstimator
from tests.encoders_of_sentences import HashEncoder
from tests.scenarios import corpus
from tests.scenarios.dimensions import (
    ALONE,
    ENCODERS,
    NAMES,
    OF_COLUMNS,
    OF_WORD_IDS,
    OUTSIDE,
    PARAMETERS,
    PIPELINES,
    REFUSALS,
    SEARCHES,
    THRESHOLDS,
    TOKENIZER,
    WARNINGS,
    Data,
    Made,
)
from tests.scenarios.doors import ASKED, EXPLAINED, KEPT, check_doors, check_explanations
from tests.scenarios.drawing import Scenario
from tests.tables import CONTAINERS

_DEFAULTS = {name: values[0] for name, values in NAMES.items()}


@dataclass(frozen=True)
class Failure:
    """What was wrong in a scenario."""

    step: str
    kind: str  # the same for failures that one fault is behind
    message: str
    trace: str


def run(changed: Scenario, seed: int = 0) -> Failure | None:
    """Run a scenario, given where it differs from the defaults, and tell what is wrong with it."""
    scenario = _DEFAULTS | changed
    unknown = {name: value for name, value in scenario.items() if value not in NAMES.get(name, ())}
    if unknown:
        raise ValueError(f"The table has no {unknown}.")
    state = np.random.get_state()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stderr(io.StringIO()),  # of verbose=1
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("always")
        np.random.seed(seed % 2**32)  # for random_state=None
        trial = Trial(scenario, seed, Path(folder))
        steps = {
            "begin": trial.begin,
            "fit": trial.fit,
            "predict": trial.predict,
            "predict more": trial.predict_more,
            f"explain {scenario['explained']}": trial.explain,
            f"ask {scenario['asked']}": trial.ask,
            f"keep {scenario['kept']}": trial.keep,
        }
        try:
            for step, action in steps.items():
                told.clear()
                try:
                    action()
                except Exception as error:
                    if not any(refusal.holds(step, scenario, error) for refusal in REFUSALS):
                        return _failed(step, error)
                    if step in ("begin", "fit"):
                        return None
                else:
                    for warning in told:
                        if not any(e.holds(scenario, str(warning.message)) for e in WARNINGS):
                            return _warned(step, warning)
        finally:
            np.random.set_state(state)
    return None


def _warned(step: str, warning: warnings.WarningMessage) -> Failure:
    text = f"{warning.category.__name__}: {warning.message}"
    where = f"{warning.filename}:{warning.lineno}"
    return Failure(step, f"{step}: {text[:70]}", text, where)


def _failed(step: str, error: Exception) -> Failure:
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "/sk_han/" in frame.filename] or frames
    where = f"{Path(inside[-1].filename).name}:{inside[-1].name}"
    trace = "".join(traceback.format_exception(error)[-12:])
    kind = f"{step}: {type(error).__name__} at {where}"
    return Failure(step, kind, f"{type(error).__name__}: {error}", trace)


class Trial:
    """The data of a scenario and, step by step, its model."""

    def __init__(self, scenario: Scenario, seed: int, folder: Path) -> None:
        self.scenario, self.seed, self.folder = scenario, seed, folder
        self.is_number = scenario["classes"] in corpus.NUMBERS

    def begin(self) -> None:
        scenario = self.scenario
        drawn = scenario["documents"], scenario["classes"], self.seed
        name = corpus.LABELS[scenario["labels"]]
        self.has = self.has_of_some = None  # of several labels which a document has, (D, L)
        self.separator: list[str] = []  # of the command line
        if scenario["classes"] in corpus.SEVERAL:
            self.texts, self.has = corpus.documents_with_labels(*drawn)
            self.classes = [name(label) for label in range(self.has.shape[1])]
            indicator = corpus.INDICATORS[scenario["y"]]
            self.y = indicator(self.has, self.classes, scenario["index"])
            self.classes = list(getattr(self.y, "columns", self.classes))  # polars renames ""
            self.labels = [[self.classes[i] for i in np.flatnonzero(row)] for row in self.has]
            self.has_of_some = self.has[[0, 1, 2, 3, 0, 0]]
            self.separator = ["--separator", "|"]
        elif self.is_number:
            self.texts, self.labels = corpus.documents_with_numbers(*drawn)
            self.classes = []
            self.y = corpus.CONTAINERS_OF_LABELS[scenario["y"]](self.labels, scenario["index"])
        else:
            self.texts, targets = corpus.documents_of(*drawn)
            self.labels = [name(target) for target in targets]
            self.classes = list(dict.fromkeys(self.labels))
            self.y = corpus.CONTAINERS_OF_LABELS[scenario["y"]](self.labels, scenario["index"])
        self.unlabelled = 2 * [text.replace("good", "fine") for text in self.texts]
        self.texts_of_some = [*self.texts[:4], "", "A good zebra. Bad, bad!"]
        self.y_of_some = [*self.labels[:4], self.labels[0], self.labels[0]]

        made = self._made("tokenizer__", TOKENIZER, HierarchicalTokenizer())
        self.tokenizer = HierarchicalTokenizer(**made)
        params = self._made("", PARAMETERS, self.tokenizer)
        if any(scenario[f"tokenizer__{n}"] != next(iter(TOKENIZER[n])) for n in TOKENIZER):
            params["tokenizer"] = self.tokenizer
        params["warm_start"] = scenario["learning"] == "warm start"
        kind = HANRegressor if self.is_number else HANClassifier
        names = kind().get_params(deep=False)
        self.classifier = kind(**{name: params[name] for name in params if name in names})
        self.outside: Any = None  # what makes word ids of documents for the classifier
        if scenario["estimator"] in OUTSIDE:
            self.classifier.set_params(tokenizer=None)
            self.outside = clone(self.tokenizer)
            if scenario["estimator"] == "padded word ids":
                self.outside.set_params(output="padded")
            if scenario["estimator"] == "sentence vectors":
                self.outside = SentenceEmbedder(HashEncoder(), tokenizer=self.outside)
            self.outside.fit(self.texts)
        self.extra_names = list(self.extras())
        with sklearn.config_context(enable_metadata_routing=True):
            requested = dict.fromkeys(self.extra_names, True)
            if requested:
                self.classifier.set_fit_request(**requested)
            if "sample_weight" in requested:
                self.classifier.set_score_request(sample_weight=True)
            if "X_unlabelled" in requested:
                self.tokenizer.set_fit_request(X_unlabelled=True)
        self.estimator = self._estimator()
        self.X, self.some = self.given(self.texts), self.given(self.texts_of_some)

    def _made(
        self, prefix: str, table: dict[str, dict[str, Any]], tokenizer: HierarchicalTokenizer
    ) -> dict[str, Any]:
        """Return the parameters of the scenario that have a prefix."""
        texts, weight = self.texts, self._weight()
        # Of those that count for nothing a classifier learns no words, but a tokenizer before it.
        if weight is not None and self.scenario["estimator"] not in OF_WORD_IDS:
            texts = [text for text, w in zip(texts, weight, strict=True) if w > 0]
        if self.scenario["unlabelled"] != "None":
            texts = texts + self.unlabelled
        embedding_dim = int(self.scenario["embedding_dim"])
        found = {name: values[self.scenario[prefix + name]] for name, values in table.items()}
        data = Data(texts, self.classes, tokenizer, embedding_dim, str(self.folder / "vectors"))
        for name, value in found.items():
            if isinstance(value, Made):
                found[name] = value.of(data._replace(tokenizer=clone(tokenizer)))
            else:
                found[name] = copy.deepcopy(value)
        return found

    def given(self, texts: list[str], container: str | None = None) -> Any:
        """Return texts in the container of the scenario, as the estimator takes them."""
        name = container or self.scenario["texts"]
        found = corpus.CONTAINERS_OF_TEXTS[name](texts, self.scenario["index"])
        if self.outside is not None:
            return self.outside.transform(found)
        if self.scenario["estimator"] not in OF_COLUMNS:
            return found
        n_marks = [float(len(text)) for text in texts]
        if self.scenario["beside"] == "a title":
            titles = [None if n % 2 else text[:9] for text, n in zip(texts, n_marks, strict=True)]
            return pd.DataFrame({"title": titles, "text": texts, "n": n_marks})
        if self.scenario["beside"] != "pandas":
            return CONTAINERS[self.scenario["beside"]](
                {
                    "text": texts,
                    "n": n_marks,
                    "stars": [None if n % 3 == 0 else n % 5 for n in n_marks],
                    "is_long": [None if n % 5 == 0 else n > 40 for n in n_marks],
                    "day": [
                        None if n % 4 == 0 else date(2024, 1 + int(n) % 12, 1) for n in n_marks
                    ],
                }
            )
        if isinstance(found, pl.Series | pl.DataFrame):
            column = found if isinstance(found, pl.Series) else found.to_series()
            return pl.DataFrame({"text": column, "n": n_marks})
        if isinstance(found, pd.DataFrame):
            found = found.iloc[:, 0]
        column = found if isinstance(found, pd.Series) else texts
        index = found.index if isinstance(found, pd.Series) else None
        return pd.DataFrame({"text": column, "n": n_marks}, index=index)

    def _estimator(self) -> Any:
        han, kind = self.classifier, self.scenario["estimator"]
        tokenized = [name for name in ("X_val", "X_unlabelled") if name in self.extra_names]
        steps = [("tokenizer", clone(self.tokenizer)), ("han", clone(han))]
        pipeline = Pipeline(steps, transform_input=tokenized or None)
        if kind in ALONE:
            return han
        if kind == "pipeline":
            return pipeline
        if kind == "pipeline of two steps before":
            same = ("same", FunctionTransformer())
            return Pipeline([same, *steps], transform_input=tokenized or None)
        if kind == "table":
            has_title = self.scenario["beside"] == "a title"
            return han.set_params(text_column=["title", "text"] if has_title else "text")
        if kind == "column":
            column = ColumnTransformer([("text", "passthrough", ["text"])])
            return Pipeline([("column", column), ("han", han)])
        if kind == "vectors beside numbers":
            linear, numbers = LogisticRegression(max_iter=1000), StandardScaler()
            if "sample_weight" in self.extra_names:
                with sklearn.config_context(enable_metadata_routing=True):
                    linear.set_fit_request(sample_weight=True)
                    numbers.set_fit_request(sample_weight=False)
            columns = ColumnTransformer([("text", han, "text"), ("n", numbers, ["n"])])
            return Pipeline([("columns", columns), ("linear", linear)])
        if kind == "search":
            return GridSearchCV(han, {"dropout": [0.1, 0.2]}, cv=2, error_score="raise")
        if kind == "search of a pipeline":
            grid = {"han__word_dropout": [0.1], "tokenizer__lowercase": [True, False]}
            return GridSearchCV(pipeline, grid, cv=2, error_score="raise")
        if kind == "calibration":
            return CalibratedClassifierCV(han, cv=2)
        if kind in ("vote", "hard vote"):
            members = [("one", han), ("other", clone(han))]
            return VotingClassifier(members, voting="soft" if kind == "vote" else "hard")
        if kind == "stack":
            # Of wide weights, its last model needs more than the usual iterations.
            last = LogisticRegression(max_iter=10_000)
            return StackingClassifier([("one", han), ("other", clone(han))], last, cv=2)
        if kind == "one against the rest":
            return OneVsRestClassifier(han)
        if kind == "search of a threshold":
            fixed, grid = FixedThresholdClassifier(han), {"threshold": [0.3, 0.6]}
            return GridSearchCV(fixed, grid, cv=2, error_score="raise")
        assert kind == "threshold"
        return TunedThresholdClassifierCV(han, cv=2)

    # Learning.

    def _weight(self) -> Any:
        n = len(self.texts)
        return {
            "None": None,
            "ones": np.ones(n),
            "some zero": (np.arange(n) % 5 != 2) * 1.5,
            "Series": pd.Series(np.linspace(1, 2, n), index=range(n, 0, -1)),
            "list of integers": [1 + i % 3 for i in range(n)],
            "wide": 10.0 ** (np.arange(n) % 7 - 3),
        }[self.scenario["weights"]]

    def extras(self) -> dict[str, Any]:
        """Return the further arguments of fit."""
        n = len(self.texts)
        groups = {
            "None": None,
            "list": [i // 2 for i in range(n)],
            "array": np.arange(n) % 7,
            "Series of strings": pd.Series([f"author {i % 5}" for i in range(n)]),
            "one": ["same"] * n,
        }[self.scenario["groups"]]
        extras = {"sample_weight": self._weight(), "groups": groups}
        found = {name: value for name, value in extras.items() if value is not None}
        how = self.scenario["validation"]
        if how != "None":
            container = "list" if how == "list" else None
            # The fewest that calibrate intervals and novelty, if there are so many.
            found["X_val"] = self.given(self.texts[:19], container)
            found["y_val"] = self.y[:19]
        how = self.scenario["unlabelled"]
        if how != "None":
            container = {"list": "list", "generator": "list", "Series": "Series"}.get(how)
            found["X_unlabelled"] = self.given(self.unlabelled, container)
            if how == "generator" and self.outside is None:
                found["X_unlabelled"] = iter(self.unlabelled)
        return found

    def fit(self) -> None:
        learning, first = self.scenario["learning"], self.extras()
        before = self._settings()
        if learning == "clone":
            self.estimator = clone(self.estimator)
        if learning == "partial_fit":
            half = len(self.texts) // 2
            weight = first.pop("sample_weight", None)
            if not self.is_number:
                first["classes"] = self.y if self.classifier.ordered else self.classes
            for rows in (slice(0, half), slice(half, None)):
                some = {} if weight is None else {"sample_weight": weight[rows]}
                X = self.given(self.texts[rows])
                self.estimator.partial_fit(X, self.y[rows], **first, **some)
                first = {}
        else:
            self._fit(**first)
        if learning == "fit twice":
            proba = self._outputs(self.some)
            self._fit(**self.extras())
            if self.scenario["random_state"] == "0":
                np.testing.assert_array_equal(self._outputs(self.some), proba)
        elif learning == "warm start":
            self._fit(**self.extras())
        elif learning == "partial_fit behind fit":
            self.estimator.partial_fit(self.X, self.y)
        elif learning == "deep copy":
            self.estimator = copy.deepcopy(self.estimator)
        elif learning == "pickle":
            self.estimator = pickle.loads(pickle.dumps(self.estimator))
        assert self._settings() == before, "fit has changed a parameter"

    def _settings(self) -> str:
        """Return all parameters as text, but not estimators, whose parameters are among them."""
        params = self.estimator.get_params()
        values = {name: str(value) for name, value in params.items() if not hasattr(value, "fit")}
        shown = {
            name: value
            for name, value in values.items()
            # A copy may have the name of an encoder that cannot be pickled.
            if not re.search(r"HAN\w+\(", value) and not name.endswith("encoder")
        }
        return re.sub(" at 0x[0-9a-fA-F]+", "", str(shown))

    def _fit(self, **extras: Any) -> None:
        searched = self.scenario["estimator"] == "search" and "groups" not in extras
        routed = bool(extras) and not searched and self.scenario["estimator"] not in ALONE
        with sklearn.config_context(enable_metadata_routing=routed):
            self.estimator.fit(self.X, self.y, **extras)

    def _outputs(self, X: Any) -> np.ndarray:
        name = "predict_proba" if hasattr(self.estimator, "predict_proba") else "predict"
        return np.asarray(getattr(self.estimator, name)(X))

    # Predictions.

    def predict(self) -> None:
        model, X = self.estimator, self.X
        predicted = model.predict(X)
        if self.has is not None:
            self._check_labels(predicted)
            return
        assert predicted.shape == (len(self.texts),)
        if self.is_number:
            assert min(self.labels) - 1e-9 <= predicted.min()
            assert predicted.max() <= max(self.labels) + 1e-9
            assert abs(model.score(X, self.y) - r2_score(self.labels, predicted)) < 1e-9
            return
        assert predicted.dtype == model.classes_.dtype
        if self.scenario["estimator"] in (*ALONE, *PIPELINES, *SEARCHES, "column", "table"):
            # Others make floats of nullable integers.
            kinds = {type(label) for label in model.classes_.tolist()}
            assert kinds == {type(self.labels[0])}, kinds
        known = set(model.classes_.tolist())
        assert known == set(self.labels), known
        assert set(predicted.tolist()) <= known
        right = np.mean([p == y for p, y in zip(predicted.tolist(), self.labels, strict=True)])
        assert abs(model.score(X, self.y) - right) < 1e-9
        if not hasattr(model, "predict_proba"):
            return
        proba = model.predict_proba(X)
        assert proba.shape == (len(self.texts), len(model.classes_))
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-6)
        numbers = [model.classes_.tolist().index(label) for label in predicted.tolist()]
        of_predicted, upto = (p[np.arange(len(p)), numbers] for p in (proba, proba.cumsum(axis=1)))
        if self.classifier.ordered and self.inner is not None:
            assert ((upto > 0.5 - 1e-9) & (upto - of_predicted < 0.5 + 1e-9)).all()
        elif not self.classifier.ordered and self.scenario["estimator"] not in THRESHOLDS:
            # A stack's logistic regression decides by scores, whose ties exp rounds away.
            np.testing.assert_allclose(of_predicted, proba.max(axis=1), rtol=1e-12)
        if hasattr(model, "predict_log_proba"):
            log_proba = model.predict_log_proba(X)
            np.testing.assert_allclose(np.exp(log_proba), proba, atol=1e-6)

    def _check_labels(self, predicted: np.ndarray) -> None:
        """Check the predictions of several labels a document."""
        model, kind = self.estimator, self.scenario["estimator"]
        if hasattr(predicted, "toarray"):  # of "one against the rest"
            predicted = predicted.toarray()
        assert predicted.shape == self.has.shape
        proba = model.predict_proba(self.X)
        assert proba.shape == self.has.shape
        assert ((proba >= 0) & (proba <= 1)).all()
        thresholds = 0.5
        if kind != "one against the rest":
            assert predicted.dtype == np.int64
            assert model.classes_.tolist() == self.classes
            np.testing.assert_allclose(np.exp(model.predict_log_proba(self.X)), proba, atol=1e-6)
            found = getattr(model, "best_estimator_", model)
            thresholds = (
                found[-1] if isinstance(found, Pipeline) else found
            ).pool_.target.thresholds
            given = PARAMETERS["threshold"][self.scenario["threshold"]]
            if given != "f1":
                given = self.classifier.threshold
                np.testing.assert_array_equal(thresholds, np.broadcast_to(given, len(self.classes)))
        np.testing.assert_array_equal(predicted, proba >= thresholds)
        # Of other words probabilities are neither near to 0 nor to 1.
        np.testing.assert_array_equal(self.predicted(model), self.of(model) >= thresholds)
        right = (predicted == self.has).all(axis=1).mean()
        assert abs(model.score(self.X, self.y) - right) < 1e-9

    def predict_more(self) -> None:
        """One document against all, other containers, vectors, scores."""
        model, kind = self.estimator, self.scenario["estimator"]
        together = self._outputs(self.some)
        for row in (0, -2, -1):
            alone = self._outputs(self.given([self.texts_of_some[row]]))
            if alone.dtype.kind == "f":
                np.testing.assert_allclose(alone, together[[row]], atol=self.atol)
        np.testing.assert_array_equal(
            self._outputs(self.given(self.texts_of_some, "list")), together
        )
        if kind in ALONE or kind in ("pipeline", "column", "table"):
            vectors = model.transform(self.some)
            assert np.isfinite(vectors).all()
            assert vectors.shape == (len(together), len(self.inner.get_feature_names_out()))
            if self.is_number:
                return
            scores = model.decision_function(self.some)
            assert np.isfinite(scores).all()
            is_binary = self.has is None and len(model.classes_) == 2
            assert scores.shape == ((len(together),) if is_binary else together.shape)

    # Explanations, other questions, files.

    @property
    def inner(self) -> HANEstimator | None:
        """The classifier or regressor in the estimator, if it is its last step."""
        last = self.estimator[-1] if isinstance(self.estimator, Pipeline) else self.estimator
        return last if isinstance(last, HANEstimator) else None

    @property
    def encoder(self) -> list[str]:
        """Return the options of the command line that name the sentence encoder."""
        name = ENCODERS.get(self.scenario["encoder"])
        return [] if name is None else ["--encoder", name]

    @property
    def a_label_each(self) -> Any:
        """Return what `explain` takes as a target for each document."""
        if self.has is None:
            return self.y
        return [self.classes[i % len(self.classes)] for i in range(len(self.texts))]

    @property
    def two_labels(self) -> Any:
        """Return what `explain_classes` takes as classes."""
        if self.has is not None:
            return self.classes[:2]
        return (self.labels if hasattr(self.y, "columns") else self.y)[:2]

    @property
    def atol(self) -> float:
        """Of probabilities in another batch; slopes fitted to a few documents multiply rounding."""
        return 1e-3 if self.scenario["estimator"] in ("calibration", "stack") else 1e-6

    @property
    def probabilities(self) -> np.ndarray:
        """Of some documents, shape (n_documents, n_classes)."""
        return self.of(self.estimator)

    def of(self, model: Any) -> np.ndarray:
        """Return what a model gives some documents: probabilities, labels of a vote, or numbers."""
        if self.is_number:
            return np.asarray(model.predict(self.some))
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(self.some), dtype=np.float64)
        classes = self.estimator.classes_.tolist()
        return np.array([classes.index(label) for label in model.predict(self.some).tolist()])

    def predicted(self, model: Any) -> np.ndarray:
        """Return labels of some documents."""
        found = model.predict(self.some)
        return found.toarray() if hasattr(found, "toarray") else found

    def explain(self) -> None:
        explained = self.scenario["explained"]
        found = EXPLAINED[explained](self)
        check_explanations(found, self, explained)
        check_doors(found, self.scenario["door"], self.folder)

    def ask(self) -> None:
        check_doors(ASKED[self.scenario["asked"]](self), self.scenario["door"], self.folder)
        if self.inner is not None and self.inner.fit_summary_ is not None:
            check_doors(self.inner.fit_summary_, self.scenario["door"], self.folder)

    def keep(self) -> None:
        KEPT[self.scenario["kept"]](self)
