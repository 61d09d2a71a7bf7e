"""What is asked of a fitted model: explanations, reports, files; and the doors of each result."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import sklearn

import sk_han
from sk_han import (
    DocumentExplanation,
    ExplanationList,
    explain,
    explain_classes,
    explain_iter,
    summarize,
)
from sk_han.cli import main
from sk_han.serving import Scorer

if TYPE_CHECKING:
    from tests.scenarios.running import Trial


# Explanations.


def _by(method: str) -> Callable[[Trial], ExplanationList]:
    return lambda trial: explain(trial.estimator, trial.some, method=method, random_state=0)


def _as_texts(trial: Trial) -> Any:
    """Return whole numbers as a file of texts has them, and other labels as they are."""
    if trial.has is not None:
        return trial.y
    return [str(each) if type(each) is int else each for each in trial.labels]


def _mistakes_by_texts(trial: Trial) -> ExplanationList:
    """Explain mistakes by labels as texts, which are those by labels as they are."""
    found = explain(trial.estimator, trial.X, y_true=_as_texts(trial)).mistakes()
    expected = explain(trial.estimator, trial.X, y_true=trial.y).mistakes()
    assert found.numbers.tolist() == expected.numbers.tolist()
    return found


EXPLAINED: dict[str, Callable[[Trial], ExplanationList]] = {
    "shapley": _by("shapley"),
    "gradient_attention": _by("gradient_attention"),
    "attention": _by("attention"),
    "random": _by("random"),
    "target": lambda trial: explain(trial.estimator, trial.some, target=trial.classes[0]),
    "a target each": lambda trial: explain(trial.estimator, trial.X, target=trial.a_label_each),
    "against": lambda trial: explain(trial.estimator, trial.some, against=trial.classes[0]),
    "predicted": lambda trial: explain(trial.estimator, trial.some, targets="predicted"),
    "y_true": lambda trial: explain(trial.estimator, trial.X, y_true=trial.y).mistakes(),
    "y_true as texts": lambda trial: _mistakes_by_texts(trial),
    "explain_iter": lambda trial: ExplanationList(
        explain_iter(trial.estimator, trial.some, batch_size=2)
    ),
    "explain_classes": lambda trial: explain_classes(trial.estimator, trial.some),
    "two classes": lambda trial: explain_classes(
        trial.estimator, trial.some, classes=trial.two_labels
    ),
}


# What asks of all documents, or of some of them that an answer chooses.
OF_ALL = ("y_true", "y_true as texts", "a target each")


def check_explanations(found: ExplanationList, trial: Trial, explained: str) -> None:
    """Check what holds of all explanations, whatever the method."""
    for explanation in found:
        n_words, n_sentences = len(explanation.words), len(explanation.sentences)
        assert explanation.contributions.shape == (n_words,)
        assert explanation.sentence_contributions.shape == (n_sentences,)
        assert np.isfinite(explanation.contributions).all()
        assert np.isfinite(explanation.ngram_contributions).all()
        if trial.has is None:
            assert abs(explanation.probabilities.sum() - 1) < 1e-6
        if explanation.base_value is not None:
            shown = explanation.to_text(width=400)
            adds_up = len(set(trial.labels) if trial.is_number else trial.classes) > 1
            assert ("with all sentences" in shown) == bool(n_sentences and adds_up)
        if n_words:
            assert abs(explanation.sentence_attention.sum() - 1) < 1e-5
            sums = np.bincount(explanation.sentence_of_word, explanation.word_attention)
            np.testing.assert_allclose(sums, 1, atol=1e-5)
    if trial.has is not None and explained not in OF_ALL:
        _check_labels(found, trial, explained)
    if explained in ("explain_classes", "two classes", "predicted"):
        found = ExplanationList([next(iter(same)) for same in found.by_document()])
    if explained not in OF_ALL and hasattr(trial.estimator, "predict_proba"):
        rows = np.array([explanation.probabilities for explanation in found])
        np.testing.assert_allclose(rows, trial.probabilities, atol=1e-6)
    if trial.is_number and explained == "explain_iter":
        numbers = [explanation.predicted for explanation in found]
        np.testing.assert_allclose(numbers, trial.of(trial.estimator), atol=1e-6)
    if explained.startswith("y_true") and not trial.is_number:
        assert all(explanation.predicted in trial.classes for explanation in found)


def _check_labels(found: ExplanationList, trial: Trial, explained: str) -> None:
    """Check that explanations know the labels that documents get, and which were explained."""
    rows = trial.predicted(trial.estimator)
    for same, row in zip(found.by_document(), rows, strict=True):
        given = tuple(trial.classes[i] for i in np.flatnonzero(row))
        assert all(explanation.labels == given for explanation in same)
        if explained == "predicted":
            assert [e.target for e in same] == list(given or [same[0].predicted])


# Other questions.


def _report(trial: Trial, y: Any = None, **how: Any) -> Any:
    y = trial.y if y is None else y
    found = sk_han.report(trial.estimator, trial.X, y, n_mistakes=2, **how)
    if trial.has is None and not trial.is_number:  # also where a threshold decides
        assert abs(found.right.mean() - trial.estimator.score(trial.X, trial.y)) < 1e-9
    return found


def _report_with_itself(trial: Trial) -> Any:
    found = _report(trial, baseline=trial.estimator)
    if not trial.is_number:
        assert found.gain[0] == 0
    return found


def _report_of_slices(trial: Trial) -> Any:
    X = trial.given(10 * list(trial.texts))
    y = 10 * list(trial.labels) if trial.has is None else np.tile(trial.has, (10, 1))
    found = sk_han.report(trial.estimator, X, y, baseline=None, n_mistakes=1)
    # Of one label or of word ids, a slice may be every document.
    assert found.n_slices or found.texts is None or len({*map(str, trial.labels)}) == 1
    return found


def _audit(trial: Trial) -> Any:
    with sklearn.config_context(enable_metadata_routing=True):  # some pipelines hand data on
        return sk_han.audit_labels(trial.estimator, trial.X, trial.y, n_explained=2)


def _selective_threshold(trial: Trial) -> Any:
    X = trial.given([f"Bad, good. {text}" for text in trial.texts])  # not learnt from
    return sk_han.selective_threshold(trial.estimator, X, trial.y, max_error=0.9)


def _coarser(trial: Trial) -> Any:
    X = trial.given([f"Bad, good. {text}" for text in trial.texts])
    tree = {label: ["one group"] * (i < 2) for i, label in enumerate(trial.classes)}
    coarse = sk_han.coarser(trial.estimator, tree, X, trial.y, max_error=0.9)
    assert {*coarse.predict(X).tolist()} <= {*coarse.nodes_.tolist(), None}
    return coarse.selection_


ASKED: dict[str, Callable[[Trial], Any]] = {
    "summarize": lambda trial: summarize(trial.estimator, trial.some, k=2),
    "summarize a draw": lambda trial: summarize(trial.estimator, trial.X, max_documents=3),
    "report": _report,
    "report with training documents": lambda trial: _report(
        trial, X_train=trial.X, y_train=trial.y
    ),
    "report of labels as texts": lambda trial: _report(trial, y=_as_texts(trial), baseline=None),
    "report without baseline": lambda trial: _report(trial, baseline=None),
    "report compared with itself": _report_with_itself,
    "report of groups": lambda trial: _report(
        trial, groups=[i // 2 for i in range(len(trial.texts))]
    ),
    "report of slices": _report_of_slices,
    "selective_threshold": _selective_threshold,
    "coarser": _coarser,
    "audit_labels": _audit,
    "novelty": lambda trial: _novelty(trial),
    "drift": lambda trial: sk_han.drift(trial.estimator, trial.given(31 * list(trial.texts[:1]))),
    "faithfulness_report": lambda trial: sk_han.faithfulness_report(
        trial.estimator, trial.some, fractions=(0.5,), random_state=0
    ),
}


# Doors of results.


def _json(result: Any, folder: Path) -> None:
    path = folder / "result.json"
    assert result.to_json(path) is None
    assert json.loads(result.to_json()) == json.loads(path.read_text("utf-8"))
    if hasattr(result, "to_dict"):
        assert json.loads(json.dumps(result.to_dict())) == json.loads(result.to_json())


def _html(result: Any, folder: Path) -> None:
    path = folder / "result.html"
    assert result.to_html(path) is None
    whole = result.to_html()
    assert path.read_text("utf-8") == whole
    assert whole.lstrip().lower().startswith("<!doctype html>")
    assert not result.to_html(full_page=False).lstrip().lower().startswith("<!doctype")


def _text(result: Any, folder: Path) -> None:
    assert isinstance(result.to_text(), str)
    assert str(result)
    assert repr(result)


def _frame(result: Any, folder: Path) -> None:
    frame = result.to_frame()
    frame.to_csv(folder / "frame.csv")
    if isinstance(result, ExplanationList):
        assert len(frame) == len(result)
        n_words = sum(len(explanation.words) for explanation in result)
        assert len(result.to_frame(level="word")) == n_words
        result.to_frame(level="sentence")
    elif isinstance(result, DocumentExplanation):
        assert frame["word"].tolist() == list(result.words)


def _plot(result: Any, folder: Path) -> None:
    import matplotlib.pyplot as plt

    try:
        result.plot().figure.savefig(io.BytesIO(), dpi=20)
    finally:
        plt.close("all")


def _notebook(result: Any, folder: Path) -> None:
    assert "<" in result._repr_html_()


def _copy(result: Any, folder: Path) -> None:
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is type(result)
    if hasattr(result, "to_dict"):
        assert json.dumps(again.to_dict()) == json.dumps(result.to_dict())


DOORS: dict[str, Callable[[Any, Path], None]] = {
    "to_text": _text,
    "to_dict": lambda result, folder: json.dumps(result.to_dict(), allow_nan=False),
    "to_json": _json,
    "to_html": _html,
    "to_frame": _frame,
    "plot": _plot,
    "_repr_html_": _notebook,
    "pickle": _copy,
}


def check_doors(result: Any, door: str, folder: Path) -> None:
    """Go through one door of a result that has it, and of the first of several explanations."""
    first = [result[0]] if isinstance(result, ExplanationList) and len(result) else []
    for one in (result, *first):
        if door == "pickle" or hasattr(one, door):
            DOORS[door](one, folder)


# Files and copies.


def _novelty(trial: Trial) -> np.ndarray:
    p = sk_han.novelty(trial.estimator, trial.some)
    assert np.isnan(p).all() or ((p >= 0) & (p <= 1)).all()
    return p


def _same(trial: Trial, other: Any, atol: float = 0.0) -> None:
    np.testing.assert_allclose(trial.of(other), trial.probabilities, atol=atol)
    if trial.inner is not None:
        p = sk_han.novelty(other, trial.some)
        np.testing.assert_allclose(p, _novelty(trial), atol=max(atol, 1e-6))
    if trial.is_number:
        return
    assert other.classes_.tolist() == trial.estimator.classes_.tolist()
    assert other.classes_.dtype == trial.estimator.classes_.dtype
    np.testing.assert_array_equal(trial.predicted(other), trial.predicted(trial.estimator))


def _saved(trial: Trial) -> Path:
    path = trial.folder / "model.han"
    sk_han.save(trial.estimator, path)
    return path


def _save(trial: Trial) -> None:
    loaded = sk_han.load(_saved(trial), encoder=trial.classifier.encoder)
    _same(trial, loaded)
    assert str(loaded.get_params(deep=False).keys()) == str(
        trial.estimator.get_params(deep=False).keys()
    )


def _scorer(trial: Trial) -> None:
    scorer = Scorer.load(_saved(trial), encoder=trial.classifier.encoder)
    _same(trial, scorer, atol=1e-6)
    frame = scorer.predict_frame(trial.some)
    n_classes = 0 if trial.is_number else len(scorer.classes_)
    predicted = frame.iloc[:, : len(frame.columns) - n_classes].to_numpy()
    predicted = predicted.squeeze(axis=1 if trial.has is None else ())
    if trial.is_number:
        np.testing.assert_allclose(predicted, trial.probabilities, atol=1e-5)
    else:
        np.testing.assert_allclose(frame.iloc[:, -n_classes:], trial.probabilities, atol=1e-6)
        np.testing.assert_array_equal(predicted, trial.predicted(trial.estimator))
    for method in ("shapley", "gradient_attention", "attention"):
        explanations = explain(trial.estimator, trial.some, method=method)
        of_scorer = scorer.explain(trial.some, method=method)
        for one, other in zip(of_scorer, explanations, strict=True):
            np.testing.assert_allclose(one.contributions, other.contributions, atol=1e-4)
            assert one.words == other.words
    scorer.summarize(trial.some, k=2).to_text()
    if trial.is_number:
        return
    found = explain(trial.estimator, trial.some, targets="predicted")
    of_scorer = scorer.explain(trial.some, targets="predicted")
    assert [e.target for e in of_scorer] == [e.target for e in found]
    assert of_scorer.numbers.tolist() == found.numbers.tolist()


def _pickle(trial: Trial) -> None:
    _same(trial, pickle.loads(pickle.dumps(trial.estimator)))


def _joblib(trial: Trial) -> None:
    joblib.dump(trial.estimator, trial.folder / "model.joblib")
    _same(trial, joblib.load(trial.folder / "model.joblib"))


def _skops(trial: Trial) -> None:
    import skops.io

    content = skops.io.dumps(trial.estimator)
    trusted = skops.io.get_untrusted_types(data=content)
    _same(trial, skops.io.loads(content, trusted=trusted))


def _another_mix(trial: Trial) -> None:
    """Shares raise and lower probabilities; those of few documents are not estimated."""
    plain = sk_han.with_priors(trial.estimator, None)
    before = trial.of(plain)
    assert "too few" in sk_han.estimate_priors(trial.estimator, trial.X).to_text()
    rare, *others = plain.classes_.tolist()
    if others:
        shares = {rare: 1e-5} | dict.fromkeys(others, (1 - 1e-5) / len(others))
        after = trial.of(sk_han.with_priors(trial.estimator, shares))
        assert (after[:, 0] < before[:, 0]).all()
        np.testing.assert_array_equal(trial.of(plain), before)


def run_cli(*arguments: object) -> str:
    """Run the command line, and return its output; an error raises what it says."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = main([str(argument) for argument in arguments])
    if code != 0:
        raise RuntimeError(f"exit code {code} of {arguments[0]}: {errors.getvalue()}")
    return output.getvalue()


def table_of(texts: list[str], labels: list[Any], path: Path) -> Path:
    """Write a table as pandas and the module csv write it; of several labels as JSON lines."""
    if isinstance(labels[0], list):
        path = path.with_suffix(".jsonl")
        rows = zip(texts, labels, strict=True)
        lines = [json.dumps({"text": text, "label": of_text}) for text, of_text in rows]
        path.write_text("\n".join(lines), encoding="utf-8")
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
    return path


def _evaluated(model: Path, table: Path, trial: Trial) -> dict[str, float]:
    """Return the scores that the command line prints."""
    found = json.loads(
        run_cli("evaluate", model, table, "--json", *trial.separator, *trial.encoder)
    )
    scores: dict[str, float] = found["scores"]["model"]
    return scores


def _command_line(trial: Trial) -> None:
    model = _saved(trial)
    # A row without text would be skipped by whoever reads the table.
    table = table_of(trial.texts_of_some, trial.y_of_some, trial.folder / "data.csv")
    shown = [] if trial.is_number else ["--proba"]
    printed = run_cli("predict", model, table, *shown, *trial.separator, *trial.encoder)
    rows = list(csv.reader(io.StringIO(printed)))[1:]
    scores = _evaluated(model, table, trial)
    if trial.is_number:
        with_words = [i for i, row in enumerate(rows) if row[0]]
        numbers = [float(rows[i][0]) for i in with_words]
        np.testing.assert_allclose(numbers, trial.probabilities[with_words], rtol=1e-4)
        assert np.isfinite(scores["mean_absolute_error"])
        return
    probabilities = np.array([row[1:] for row in rows], dtype=float)
    np.testing.assert_allclose(probabilities, trial.probabilities, atol=2e-6)
    predicted = trial.estimator.predict(trial.some)
    if trial.has is None:
        accuracy, right = scores["accuracy"], predicted == np.array(trial.y_of_some)
        run_cli(
            "explain", model, table, "--label", "label", "--method", "attention", *trial.encoder
        )
    else:
        accuracy = scores["subset_accuracy"]
        right = (predicted == trial.has_of_some).all(axis=1)
        run_cli("explain", model, table, "--method", "attention", *trial.encoder)
    assert abs(accuracy - right.mean()) < 1e-9


def _command_line_report(trial: Trial) -> None:
    model = _saved(trial)
    table = table_of(trial.texts, trial.labels, trial.folder / "data.csv")
    page = trial.folder / "report.html"
    options = ["--baseline", model, *trial.separator, *trial.encoder]
    run_cli("evaluate", model, table, "-o", page, *options)
    assert page.stat().st_size > 1000
    found = json.loads(run_cli("evaluate", model, table, "--json", *options))
    assert found["gain"][0] == 0


def _command_line_fit(trial: Trial) -> None:
    """A model of the same table, of which some rows are held out."""
    table = table_of(trial.texts, trial.labels, trial.folder / "data.csv")
    rest, model = trial.folder / "another.test.csv", trial.folder / "another.han"
    small = [f"--set={name}=2" for name in ("embedding_dim", "word_hidden", "max_epochs")]
    small += ["--number", "label"] if trial.is_number else []
    run_cli("fit", table, "-o", model, "--hold-out", 0.3, *small, *trial.separator, *trial.encoder)
    with rest.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert 0 < len(rows) < len(trial.texts)
    assert {row["text"] for row in rows} <= set(trial.texts)
    if trial.is_number:
        assert _evaluated(model, rest, trial)["r2"] <= 1
        return
    if trial.has is None:
        scores = run_cli(
            "cross-validate", table, "--folds", 2, *small, *trial.encoder
        ).splitlines()[1]
        assert 0 <= float(scores.split()[1]) <= 1
    scores = _evaluated(model, rest, trial)
    assert 0 <= scores["accuracy" if trial.has is None else "subset_accuracy"] <= 1


def _learn_on(trial: Trial) -> None:
    """A copy learns on, and the model itself stays as it is."""
    before = trial.probabilities
    copy = pickle.loads(pickle.dumps(trial.estimator))
    with sklearn.config_context(enable_metadata_routing=True):
        copy.fit(trial.X, trial.y)
    np.testing.assert_array_equal(trial.probabilities, before)


OF_TABLES: dict[str, Callable[[Trial], None]] = {
    "command line": _command_line,
    "command line report": _command_line_report,
    "command line fit": _command_line_fit,
}
KEPT: dict[str, Callable[[Trial], None]] = {
    "save": _save,
    "Scorer": _scorer,
    "pickle": _pickle,
    "joblib": _joblib,
    "skops": _skops,
    "another mix": _another_mix,
    **OF_TABLES,
    "learn on": _learn_on,
}
