"""predict, explain and evaluate do what the stored model does, row by row."""

import csv
import gzip
import io
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import classification_report, confusion_matrix

import sk_han
from sk_han import ExplanationList
from sk_han._model.novelty import Novelty
from sk_han.serving import Scorer
from tests.html_page import Page
from tests.tiny_models import LABELS, TEXTS, fitted_classifier, tiny, with_model


def rows_of(output, delimiter=","):
    return list(csv.reader(io.StringIO(output), delimiter=delimiter))


class TestPredict:
    def test_probabilities_and_kept_columns_are_added(self, run, model, table):
        _, output, _ = run("predict", model, table(), "--proba", "--keep", "id", "--keep", "text")
        header, *rows = rows_of(output)
        assert header == ["id", "text", "prediction", "probability_neg", "probability_pos"]
        assert [row[:2] for row in rows] == [[str(i), text] for i, text in enumerate(TEXTS)]
        found = np.array([row[3:] for row in rows], dtype=float)
        np.testing.assert_allclose(found, Scorer.load(model).predict_proba(TEXTS), rtol=1e-5)

    @pytest.mark.filterwarnings("always")
    def test_a_threshold_marks_accepted_documents_but_no_blank_text(self, run, model, table):
        path = table([*enumerate(TEXTS), (18, " ")], header=("id", "text"))
        confidence = Scorer.load(model).predict_proba(TEXTS).max(axis=1)
        least = np.median(confidence)
        _, output, _ = run("predict", model, path, "--threshold", least, "--proba")
        header, *rows = rows_of(output)
        assert header == ["prediction", "accepted", "probability_neg", "probability_pos"]
        expected = ["true" if each >= least else "false" for each in confidence]
        assert set(expected) == {"true", "false"}
        assert [row[1] for row in rows] == [*expected, "false"]
        assert run("predict", model, path, "--threshold", 0)[1].endswith(",true\n,false\n")
        _, _, told = run("predict", model, path, "--threshold", 83)
        assert told == ("sk-han: error: threshold must be a probability, such as 0.9; got 83.0.\n")

    def test_novelty_is_a_column_of_p_values(self, run, table, tmp_path):
        calibrated = Novelty(np.linspace(0, 1, 19), np.ones(3), np.zeros(1))
        sk_han.save(with_model(fitted_classifier(), novelty=calibrated), tmp_path / "m.han")
        options = "--novelty", "--threshold", 0.5
        header, *rows = rows_of(run("predict", tmp_path / "m.han", table(), *options)[1])
        assert header == ["prediction", "accepted", "novelty_p_value"]
        expected = sk_han.novelty(Scorer.load(tmp_path / "m.han"), TEXTS)
        np.testing.assert_allclose([float(row[2]) for row in rows], expected, rtol=1e-5)

    @pytest.mark.filterwarnings("default")
    def test_novelty_without_calibration_is_empty_with_a_warning(self, run, model, table):
        path = table([(i, TEXTS[i % 6], "pos") for i in range(300)])  # more than a batch
        code, output, told = run("predict", model, path, "--novelty", "--proba")
        assert (code, {row[1] for row in rows_of(output)[1:]}) == (0, {""})
        assert told.count("p-values of novelty are NaN") == 1

    def test_standard_input_may_be_json_lines(self, run, model, standard_input):
        standard_input('{"text": "Good. Very good.", "id": 7, "tags": ["ä"]}\n')
        _, output, _ = run("predict", model, "-", "--jsonl", "--keep", "id", "--keep", "tags")
        assert rows_of(output)[1][:2] == ["7", '["ä"]']

    def test_documents_of_several_batches_keep_their_order(self, run, model, table):
        rows = [(i, TEXTS[i % 6], "pos") for i in range(600)]
        _, output, _ = run("predict", model, table(rows), "--keep", "id")
        found = rows_of(output)[1:]
        assert [row[0] for row in found] == [str(i) for i in range(600)]
        assert [row[1] for row in found[:6]] == [row[1] for row in found[594:]]

    @pytest.mark.parametrize(("given", "delimiter"), [("tab", "\t"), ("\\t", "\t"), (";", ";")])
    def test_several_text_columns_and_other_separators_are_read(
        self, run, model, table, given, delimiter
    ):
        path = table([("Good.", "Bad.")], "data.txt", ("title", "body"), delimiter)
        columns = ("--text", "title", "--text", "body")
        code, output, _ = run("predict", model, path, "--sep", given, *columns, "--proba")
        assert code == 0
        (expected,) = Scorer.load(model).predict_proba(["Good.\n\nBad."])
        found = np.array(rows_of(output, delimiter)[1][1:], dtype=float)
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    @pytest.mark.filterwarnings("always")
    def test_blank_texts_get_no_label_and_are_named(self, run, model, table):
        path = table([(0, "Good.", ""), (1, " \n", ""), (2, "\u2192", "")])  # an arrow is no word
        code, output, told = run("predict", model, path, "--keep", "id", "--proba")
        assert code == 0
        assert [row[:2] for row in rows_of(output)[2:]] == [["1", ""], ["2", ""]]
        assert rows_of(output)[1][1] in ("neg", "pos")
        assert "warning: 2 blank texts got no label: lines 3 ('1'), 5 ('2')." in told
        _, _, told = run("predict", model, table([(0, "Good.", ""), (1, " ", "")]))
        assert "warning: 1 blank text got no label: line 3." in told

    @pytest.mark.parametrize("name", ["out.csv", "out.tsv"])
    def test_no_text_or_header_forges_a_row(self, run, model, table, tmp_path, name):
        cells = [
            "a\rneg",
            "a\r\nneg\r",
            "a\nb",
            '"',
            "a,b;c\td",
            "a\x0b\x0c\x85\u2028",
            "=1+1",
            "\0",
        ]
        header, path = "note\rneg", tmp_path / name
        data = table([("Good.", cell) for cell in cells], header=("text", header))
        assert run("predict", model, data, "--keep", header, "--quiet", "-o", path)[0] == 0
        text = path.read_bytes().decode()
        delimiter = "\t" if name.endswith("tsv") else ","
        assert [row[0] for row in rows_of(text, delimiter)] == [header, *cells]
        frame = pd.read_csv(path, sep=delimiter, keep_default_na=False)
        assert frame[header].tolist() == cells
        assert text.startswith(f'"{header}"{delimiter}prediction\n')  # no \r for cut, sort, uniq

    @pytest.mark.parametrize("name", ["out.tsv", "out.csv.gz"])
    def test_a_file_holds_what_is_printed(self, run, model, table, tmp_path, name):
        _, printed, _ = run("predict", model, table(), "--keep", "text")
        code, output, _ = run("predict", model, table(), "--keep", "text", "-o", tmp_path / name)
        content = (tmp_path / name).read_bytes()
        content = gzip.decompress(content) if name.endswith("gz") else content
        delimiter = "\t" if "tsv" in name else ","
        assert (code, output) == (0, "")
        assert rows_of(content.decode(), delimiter) == rows_of(printed)

    def test_an_error_leaves_the_old_file(self, run, model, table, tmp_path):
        (tmp_path / "out.csv").write_text("old")
        rows = [(i, "Good.", "pos") for i in range(900)] + [("too", "few")]
        code, _, told = run("predict", model, table(rows), "--force", "-o", tmp_path / "out.csv")
        assert code == 1
        assert "data.csv, line 902: expected as many fields as column names, 3; got 2" in told
        assert (tmp_path / "out.csv").read_text() == "old"

    def test_rows_on_a_terminal_show_progress(self, run, model, table, tmp_path, monkeypatch):
        for stream in (sys.stderr, sys.stdout):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        assert run("predict", model, table())[2] == ""
        assert "Predicted" in run("predict", model, table(), "-o", tmp_path / "out.csv")[2]


class TestExplain:
    def test_a_page_has_the_first_documents(self, run, model, table, tmp_path):
        page = tmp_path / "page.html"
        code, output, told = run("explain", model, table(), "--rows", 5, "-o", page)
        assert (code, output) == (0, "")
        assert told.startswith("Explained 5 documents")
        expected = Scorer.load(model).explain(TEXTS[:5]).to_html()
        assert page.read_text("utf-8") == expected
        assert run("explain", model, table(), "--rows", 5, "-o", "-")[1] == expected

    def test_without_a_page_text_is_printed_with_one_legend(self, run, model, table):
        n = len(TEXTS)
        _, output, _ = run("explain", model, table(), "--rows", n, "--label", "label")
        expected = ExplanationList(Scorer.load(model).explain(TEXTS), y_true=LABELS)
        assert output == f"{expected.to_text(max_documents=None)}\n"
        assert f"[{n - 1}] " in output
        assert " ".join(output.split()).count("The number before a sentence") == 1

    def test_the_against_option_works_as_in_explain(self, run, model, table):
        _, output, _ = run("explain", model, table(), "--rows", 1, "--against", "pos")
        assert output == Scorer.load(model).explain(TEXTS[:1], against="pos").to_text() + "\n"
        code, _, told = run("explain", model, table(), "--against", "neutral")
        assert code == 1
        assert "--against: 'neutral' is no class of the model; it has 'neg', 'pos'. Give" in told

    @pytest.mark.filterwarnings("ignore:method='attention' shows the network alone")
    def test_target_and_method_options_work_as_in_explain(self, run, model, table):
        _, output, _ = run(
            *("explain", model, table(), "--rows", 1, "--target", "neg", "--method", "attention")
        )
        expected = Scorer.load(model).explain(TEXTS[:1], target="neg", method="attention")
        assert output == f"{expected.to_text()}\n"


class TestEvaluate:
    def test_evaluate_prints_the_report_or_the_scores_as_json(self, run, model, table):
        scorer = Scorer.load(model)
        expected = replace(sk_han.report(scorer, TEXTS, LABELS), estimator="tiny.han")
        code, output, told = run("evaluate", model, table())
        assert (code, output) == (0, f"{expected}\n")
        assert told.startswith("report ...\n")
        assert re.search(REPORTED, told)
        _, output, _ = run("evaluate", model, table(), "--json")
        found, predicted = json.loads(output), scorer.predict(TEXTS)
        assert (output.count("\n"), found["labels"]) == (1, ["neg", "pos"])
        by_label = classification_report(LABELS, predicted, output_dict=True, zero_division=0)
        assert found["scores"]["model"]["accuracy"] == pytest.approx(by_label["accuracy"])
        assert found["confusion"] == confusion_matrix(LABELS, predicted).tolist()
        assert [each["n_documents"] for each in found["classes"]] == [9, 9]

    def test_labels_of_unknown_classes_count_as_missed(self, run, model, table):
        known = [(0, "Good.", "pos"), (1, "two\nlines", "neg")]
        others = [(2, "Bad.", "Neg"), (3, "Good.", "strange"), (4, "Good.", "strange")]
        code, output, _ = run("evaluate", model, table([*known, *others]), "--json")
        assert code == 0
        found = json.loads(output)
        few = json.loads(run("evaluate", model, table(known), "--json")[1])
        said = "3 documents have a label that the model does not know, 'Neg', 'strange'"
        assert any(note.startswith(said) for note in found["notes"])
        assert found["labels"] == ["neg", "pos", "Neg", "strange"]
        assert np.sum(found["confusion"], axis=1).tolist() == [1, 1, 1, 2]
        scores, of_few = found["scores"]["model"], few["scores"]["model"]
        assert scores["accuracy"] == pytest.approx(of_few["accuracy"] * 2 / 5)
        assert scores["log_loss"] == pytest.approx(of_few["log_loss"])
        code, output, told = run("evaluate", model, table(others))
        assert (code, output) == (1, "")
        assert "None of the labels is a class of the model. They are 'Neg', 'strange'" in told


@pytest.mark.thorough
def test_a_stored_model_works_without_torch_and_scikit_learn(model, table, tmp_path):
    code = f"""
import sys
for name in ("torch", "skorch", "sklearn", "scipy", "joblib", "threadpoolctl"):
    sys.modules[name] = None
from sk_han.cli import main
data = [{model!r}, {table()!r}]
assert main(["predict", *data, "--proba"]) == 0
assert main(["explain", *data, "-o", {str(tmp_path / "page.html")!r}]) == 0
assert main(["fit", data[1], "-o", {str(tmp_path / "new.han")!r}]) == 1
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 19
    assert "torch" in done.stderr.splitlines()[-1]


# audit and report write what Python makes of the same data.


QUICK = ("--set", "max_epochs=1", "--set", "embedding_dim=8", "--set", "word_hidden=4")


AUDITED = (
    r"(?s)^fold 1 of 5 \.\.\..*fold 5 of 5 \.\.\..*"
    r"Audited 18 documents in .* s\. Labels expected to be wrong: \d+\.\n$"
)
REPORTED = (
    r"(?s)^report \.\.\.\n.*Read 18 documents in .* s\. "
    r"Accuracy: model \d\.\d{3}, commonest 0.500\.\n$"
)


def test_an_audit_matches_that_of_python(run, table, tmp_path):
    estimator = sk_han.HANClassifier(max_epochs=1, embedding_dim=8, word_hidden=4, random_state=0)
    expected = sk_han.audit_labels(estimator, TEXTS, LABELS)
    expected.to_csv(tmp_path / "expected.csv")
    page, written = tmp_path / "page.html", tmp_path / "written.csv"
    code, output, told = run("audit", table(), *QUICK, "--csv", written, "-o", page)
    assert (code, output) == (0, "")
    assert re.search(AUDITED, told)
    assert page.read_text("utf-8") == expected.to_html()
    assert written.read_bytes() == (tmp_path / "expected.csv").read_bytes()
    assert run("audit", table(), *QUICK, "--quiet") == (0, f"{expected}\n", "")


def test_a_report_matches_that_of_python(run, model, table, tmp_path):
    expected, page = (
        sk_han.report(Scorer.load(model), TEXTS, LABELS, n_mistakes=2),
        tmp_path / "a.html",
    )
    expected = replace(expected, estimator="tiny.han")
    arguments = ("evaluate", model, table(), "--mistakes", 2)
    code, output, told = run(*arguments, "-o", page)
    assert (code, output) == (0, "")
    assert re.search(REPORTED, told)
    assert page.read_text("utf-8") == expected.to_html()
    assert run(*arguments, "--quiet") == (0, f"{expected}\n", "")


@pytest.mark.parametrize("command", ["explain", "audit", "evaluate"])
def test_a_kept_column_identifies_the_documents(run, model, table, tmp_path, command):
    rows = [
        (f"review-{i}", *row) for i, row in enumerate(zip(TEXTS, np.roll(LABELS, 1), strict=True))
    ]
    arguments = QUICK if command == "audit" else [model]
    data, page = table(rows), tmp_path / "page.html"
    paths = [*arguments, data] if command != "audit" else [data, *arguments]
    assert run(command, *paths, "--keep", "id", "-o", page)[0] == 0
    assert "Document review-" in page.read_text("utf-8")
    code, _, told = run(command, *paths, "--keep", "ids")
    assert code == 1
    assert "has no column 'ids'. It has 'id', 'text', 'label'. Did you mean 'id'?" in told


def test_training_documents_are_learnt_by_the_baseline(run, model, table, tmp_path):
    pairs = enumerate(zip(TEXTS, LABELS, strict=True))
    rows = [(i, f"{text} Number {i}.", label) for i, (text, label) in pairs]
    page, train = tmp_path / "report.html", table(rows, name="train.csv")
    code, _, _ = run("evaluate", model, table(rows[14:]), "--train", train, "-o", page)
    assert code == 0
    text = Page(page.read_text("utf-8")).all_text
    assert "The baseline was fitted to the 18 training documents given" in text
    assert "4 documents have the same or nearly the same words as a training document" in text


class TestTwoModels:
    def test_the_baseline_may_be_another_model(self, run, model, other, table):
        code, output, told = run("evaluate", model, table(), "--baseline", other)
        assert code == 0, told
        right = [sk_han.load(path).score(TEXTS, LABELS) for path in (model, other)]
        (points,) = re.findall(r"Accuracy is ([\d.]+) points higher than the baseline's", output)
        assert float(points) == pytest.approx(100 * (right[0] - right[1]), abs=0.06)
        assert "(95 % interval: " in output.replace("\N{NO-BREAK SPACE}", " ")
        assert "baseline: other.han" in output
        code, output, _ = run("evaluate", model, table(), "--baseline", other, "--json")
        found = json.loads(output)
        assert found["gain"][0] == pytest.approx(right[0] - right[1])
        assert found["scores"]["baseline"]["accuracy"] == pytest.approx(right[1])

    @pytest.fixture
    def other(self, tmp_path):
        """A model that has learnt from a third of wrong labels."""
        labels = np.where(np.arange(len(LABELS)) % 3, LABELS, np.roll(LABELS, 3))
        sk_han.save(fitted_classifier().fit(TEXTS, labels), tmp_path / "other.han")
        return tmp_path / "other.han"


class TestAnotherMix:
    def test_given_priors_work_as_in_with_priors(self, run, model, table):
        scorer = sk_han.with_priors(Scorer.load(model), {"neg": 0.1, "pos": 0.9})
        for shares in ("neg=.1,pos=.9", '{"neg": 0.1, "pos": 0.9}'):
            _, output, _ = run("predict", model, table(), "--proba", "--priors", shares)
            found = np.array([row[1:] for row in rows_of(output)[1:]], dtype=float)
            np.testing.assert_allclose(found, scorer.predict_proba(TEXTS), rtol=1e-5)
        _, output, _ = run("evaluate", model, table(), "--json", "--priors", "neg=.1, pos=.9")
        predicted = scorer.predict(TEXTS)
        assert json.loads(output)["scores"]["model"]["accuracy"] == pytest.approx(
            (predicted == LABELS).mean()
        )


class TestDrift:
    def test_the_drift_command_prints_the_report_of_python(self, run, model, table):
        texts = 40 * ["Das Wetter ist nicht gut."]
        path = table([(i, text, "pos") for i, text in enumerate(texts)])
        expected = sk_han.drift(Scorer.load(model), texts)
        code, output, _ = run("drift", model, path)
        assert code == 0
        assert output == f"{expected.to_text()}\n"
        assert json.loads(run("drift", model, path, "--json")[1]) == expected.to_dict()
        assert expected.alarm


class TestSeveralTexts:
    """Models that read the texts of several columns, fitted in Python."""

    @pytest.fixture
    def titled(self, tmp_path):
        frame = pd.DataFrame({"title": TEXTS, "body": "It was a day.", "label": LABELS})
        model = tiny(text_column=["title", "body"], max_epochs=3, lr=0.05)
        sk_han.save(model.fit(frame[["title", "body"]], LABELS), tmp_path / "titled.han")
        frame.to_csv(tmp_path / "titled.csv", index=False)
        return model, frame, tmp_path / "titled.han", tmp_path / "titled.csv"

    def test_their_columns_are_read_without_an_option(self, titled, run):
        model, frame, path, data = titled
        code, output, _ = run("predict", path, data, "--proba")
        assert code == 0
        found = pd.read_csv(io.StringIO(output))
        expected = model.predict_proba(frame[["title", "body"]])
        np.testing.assert_allclose(found.iloc[:, -2:], expected, atol=1e-4)

    def test_other_columns_are_refused(self, titled, run):
        *_, path, data = titled
        code, _, told = run("predict", path, data, "--text", "body")
        assert code == 2
        assert "reads the texts 'title', 'body'; leave --text out" in told
