"""A column with several labels a document, from fit to evaluate."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score

import sk_han
from sk_han.serving import Scorer
from tests.cli.test_fitting import SMALL
from tests.tiny_models import TEXTS, tiny

CELLS = 3 * ["good;sun", " good", "good ; praise;", "bad;rain", "bad", ""]
NAMES = ["bad", "good", "praise", "rain", "sun"]
Y = np.array(
    [[name in [part.strip() for part in cell.split(";")] for name in NAMES] for cell in CELLS]
)
HEADER = ("id", "text", "topics")
TOPICS = ("--label", "topics", "--separator", ";")


@pytest.fixture
def topics(table):
    """Write texts and cells of labels; give the path."""

    def write(cells=CELLS, name="topics.csv"):
        rows = [(i, TEXTS[i % len(TEXTS)], cell) for i, cell in enumerate(cells)]
        return table(rows, name, HEADER)

    return write


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    pandas = pytest.importorskip("pandas")
    path = tmp_path_factory.mktemp("topics") / "topics.han"
    model = tiny(max_epochs=3, lr=0.05, threshold=[0.3, 0.5, 0.2, 0.2, 0.2])
    sk_han.save(model.fit(TEXTS, pandas.DataFrame(Y, columns=NAMES)), path)
    return str(path)


def test_a_model_of_several_labels_equals_that_of_python(run, topics, tmp_path):
    path = tmp_path / "m.han"
    code, _, told = run("fit", topics(), "-o", path, *SMALL, "--set=pooling='attention'", *TOPICS)
    assert code == 0
    assert "Read 18 documents of 5 labels: " in told
    expected = tiny(pooling="attention", max_epochs=2).fit(TEXTS, Y)
    model = sk_han.load(path)
    assert model.classes_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict_proba(TEXTS), expected.predict_proba(TEXTS))


def test_validation_documents_may_only_have_labels_of_training_documents(run, topics, tmp_path):
    validation = topics(["sun;good", "", "bad"], "validation.csv")
    arguments = ["fit", topics(), "-o", tmp_path / "m.han", *SMALL, *TOPICS, "--validation"]
    assert run(*arguments, validation)[0] == 0
    code, _, told = run(*arguments, topics(["sun", "snow"], "validation.csv"))
    assert code == 1
    assert "line 3: 'topics': 'snow' is no class of the model" in told


def test_predicted_labels_are_joined_and_probabilities_have_own_columns(run, topics, stored):
    code, output, _ = run("predict", stored, topics(), "--proba", "--separator", "|")
    header, *rows = csv.reader(io.StringIO(output))
    assert code == 0
    assert header == ["prediction", *(f"probability_{name}" for name in NAMES)]
    scorer = Scorer.load(stored)
    decided = scorer.predict(TEXTS)
    assert 0 < decided.sum() < decided.size
    expected = ["|".join(np.array(NAMES)[row == 1]) for row in decided]
    assert [row[0] for row in rows] == expected
    found = np.array([row[1:] for row in rows], dtype=float)
    np.testing.assert_allclose(found, scorer.predict_proba(TEXTS), rtol=1e-5)


def test_scores_are_computed_from_the_predicted_labels(run, topics, stored):
    code, output, _ = run("evaluate", stored, topics(), *TOPICS, "--json")
    assert code == 0
    found, decided = json.loads(output), Scorer.load(stored).predict(TEXTS)
    scores = found["scores"]["model"]
    assert scores["subset_accuracy"] == pytest.approx((decided == Y).all(axis=1).mean())
    assert scores["micro_f1"] == pytest.approx(f1_score(Y, decided, average="micro"))
    by_label = f1_score(Y, decided, average=None, zero_division=0)
    assert [label["f1"] for label in found["classes"]] == pytest.approx(by_label)
    assert [label["n_documents"] for label in found["classes"]] == Y.sum(axis=0).tolist()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("separator", "joined"), [([], "water;fire"), (["--separator", "|"], "water,fire")]
)
def test_labels_that_look_joined_warn(run, table, tmp_path, separator, joined):
    cells = ["water", "fire", joined]
    rows = [(i, f"leak and smoke {i}", cells[i % 3]) for i in range(30)]
    code, _, told = run("fit", table(rows), *separator, *SMALL, "-o", tmp_path / "claims.han")
    assert code == bool(separator)
    assert f"'{joined}' is learnt as one label, and looks like several: 'water', 'fire'." in told
    assert f"give --separator {joined[5]!r}" in told
    assert ("no cell has several between separators '|'" in told) == bool(separator)


def test_json_lists_are_read_as_sets_of_labels(run, stored, tmp_path):
    path = tmp_path / "topics.jsonl"
    cells = [["good", "sun"], [], None, "bad;rain"]
    path.write_text("\n".join(json.dumps({"text": "Good.", "topics": cell}) for cell in cells))
    code, output, _ = run("evaluate", stored, path, *TOPICS, "--json")
    assert code == 0
    counts = [label["n_documents"] for label in json.loads(output)["classes"]]
    assert counts == [1, 1, 0, 1, 1]


@pytest.mark.filterwarnings("always")
def test_unknown_labels_count_as_missed_and_are_named(run, topics, stored, tmp_path):
    cells = [";".join(np.array(NAMES)[row == 1]) for row in Y]
    path = topics([cells[0] + ";snow", cells[1] + ";hail;snow", *cells[2:]], "snow.csv")
    code, output, _ = run("evaluate", stored, path, *TOPICS, "--json")
    assert code == 0
    said = "2 documents have a label that the model does not know, 'snow', 'hail'"
    found, decided = json.loads(output), Scorer.load(stored).predict(TEXTS)
    more = np.array([[1, 0], [1, 1], *[[0, 0]] * 16])
    true, decisions = np.hstack([Y, more]), np.hstack([decided, 0 * more])
    assert any(note.startswith(said) for note in found["notes"])
    assert found["scores"]["model"]["micro_f1"] == pytest.approx(
        f1_score(true, decisions, average="micro")
    )
    assert found["labels"] == [*NAMES, "snow", "hail"]
    assert said in " ".join(run("evaluate", stored, path, *TOPICS)[1].split())


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        (["good;sun"], "line 1: 'topics': the label 'good;sun' holds the separator ';'"),
        ({"good": 1}, "labels are a string, or a list of strings"),
    ],
)
def test_invalid_cells_are_reported_with_their_line(run, stored, tmp_path, cell, why):
    path = tmp_path / "topics.jsonl"
    path.write_text(json.dumps({"text": "Good.", "topics": cell}))
    code, _, told = run("evaluate", stored, path, *TOPICS)
    assert code == 1
    assert why in told


def test_each_label_that_a_document_gets_is_explained(run, stored, topics):
    options = ("--rows", 18, *TOPICS, "--targets", "predicted")
    code, output, _ = run("explain", stored, topics(CELLS), *options)
    assert code == 0
    expected = sk_han.explain(sk_han.load(stored), TEXTS, targets="predicted", y_true=Y)
    assert len(expected) > len({*expected.numbers.tolist()}) == 18
    of_scorer = Scorer.load(stored).explain(TEXTS, targets="predicted")
    assert [e.target for e in of_scorer] == [e.target for e in expected]
    np.testing.assert_array_equal(of_scorer.numbers, expected.numbers)
    assert output == f"{expected.to_text(max_documents=None)}\n"
    code, _, told = run("explain", stored, topics(), *options, "--target", "sun")
    assert code == 1
    assert "give one of them" in told


def test_the_report_equals_that_of_python(run, topics, stored, tmp_path):
    page = tmp_path / "report.html"
    assert run("evaluate", stored, topics(), *TOPICS, "-o", page)[0] == 0
    found = replace(sk_han.report(Scorer.load(stored), TEXTS, Y), estimator="topics.han")
    assert page.read_text("utf-8") == found.to_html()
