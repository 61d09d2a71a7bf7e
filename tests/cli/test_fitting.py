"""fit stores the classifier that the same data make in Python."""

import csv
import gzip
import json
import sys

import numpy as np
import pytest

import sk_han
from tests.tiny_models import LABELS, TEXTS, tiny

SIZES = "embedding_dim=7 word_hidden=5 sentence_hidden=3 max_epochs=2 batch_size=32 device=cpu"
SMALL = [f"--set={setting}" for setting in SIZES.split()]
PARAMS = {"pooling": "attention", "max_epochs": 2}
ROWS = [(i, *pair) for i, pair in enumerate(zip(TEXTS, LABELS.tolist(), strict=True))]


@pytest.fixture
def fit(run, table, tmp_path):
    """Fit the tiny corpus with these options; give code, standard error and the model."""

    def fit_with(*options, data=None):
        path = tmp_path / "m.han"
        code, output, told = run("fit", data or table(), "-o", path, *SMALL, *options)
        assert output == ""
        return code, told, sk_han.load(path) if path.exists() else None

    return fit_with


def test_the_model_equals_one_fitted_in_python(fit):
    code, _, model = fit("--seed", 5)
    expected = tiny(**PARAMS, random_state=5).fit(TEXTS, LABELS)
    assert code == 0
    np.testing.assert_array_equal(model.predict_proba(TEXTS), expected.predict_proba(TEXTS))


def test_validation_and_unlabelled_documents_are_used(fit, table, standard_input):
    other = [f"{text} It was {'bad' if i % 3 else 'good'}." for i, text in enumerate(TEXTS)]
    standard_input("text\n" + "".join(f'"{text}"\n' for text in other))
    validation = table(ROWS[2:9], name="validation.csv")
    _, told, model = fit("--validation", validation, "--unlabelled", "-")
    expected = tiny(**PARAMS).fit(
        TEXTS, LABELS, X_val=TEXTS[2:9], y_val=LABELS[2:9], X_unlabelled=other
    )
    np.testing.assert_array_equal(model.predict_proba(TEXTS), expected.predict_proba(TEXTS))
    assert "held-out documents (95 % interval" in told
    assert str(model.fit_summary_) in told


def test_labels_of_json_keep_their_type(fit, table, tmp_path):
    path = tmp_path / "data.jsonl.gz"
    lines = [
        f'{{"text": "{text}", "label": {3 + (label == "pos")}}}\n'
        for text, label in zip(TEXTS, LABELS, strict=True)
    ]
    path.write_bytes(gzip.compress("".join(lines).encode()))
    _, _, model = fit(data=path)
    assert model.classes_.tolist() == [3, 4]
    # Those of a table are integers if all are whole numbers.
    rows = [(i, text, ("01", "2")[label == "pos"]) for i, text, label in ROWS]
    assert fit(data=table(rows))[2].classes_.tolist() == ["01", "2"]


class TestTablesOfSeveralFormats:
    """JSON lines have numbers, and CSV has text; a separator is between columns alone."""

    def test_validation_labels_written_as_floats_match_integer_classes(self, fit, tmp_path, table):
        numbers = (LABELS == "pos").astype(int).tolist()
        data = tmp_path / "data.jsonl"
        pairs = zip(TEXTS, numbers, strict=True)
        data.write_text("\n".join(json.dumps({"text": t, "label": n}) for t, n in pairs))
        rows = [(text, f"{n}.0") for text, n in zip(TEXTS[2:9], numbers[2:9], strict=True)]
        validation = table(rows, "other.csv", ("text", "label"))
        code, _, model = fit("--validation", validation, data=data)
        assert code == 0
        expected = tiny(**PARAMS).fit(TEXTS, numbers, X_val=TEXTS[2:9], y_val=numbers[2:9])
        np.testing.assert_array_equal(model.predict_proba(TEXTS), expected.predict_proba(TEXTS))

    def test_an_unknown_validation_label_is_reported_with_its_line(self, fit, table):
        validation = table([("Good.", "pos"), ("Bad.", "none")], "other.csv", ("text", "label"))
        code, told, _ = fit("--validation", validation)
        assert code == 1
        assert f"{validation}, line 3: 'label': 'none' is no class of the model" in told

    def test_json_lines_from_stdin_can_be_combined_with_csv_tables(
        self, fit, table, standard_input
    ):
        standard_input("\n".join(json.dumps({"text": row[1], "label": row[2]}) for row in ROWS))
        other = table(delimiter=";", name="other.csv")
        options = ("--jsonl", "--sep", ";", "--unlabelled", other, "--validation", other)
        assert fit(*options, data="-")[0] == 0


def test_a_log_has_a_line_for_each_epoch(fit):
    _, told, model = fit()
    assert model.random_state == 0  # the default of --seed
    lines = told.splitlines()
    assert lines[1].startswith("Read 18 documents of 2 classes: ")
    epochs = [line for line in lines if line.startswith("epoch")]
    assert [line.partition(":")[0] for line in epochs] == ["epoch 1 of 2", "epoch 2 of 2"]
    assert all("train_loss 0." in line and "valid_accuracy " in line for line in epochs)
    assert lines[-1].startswith("Saved ")
    assert "\r" not in told


def test_progress_lines_are_rewritten_on_a_terminal(fit, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    _, told, model = fit()
    assert "\r" in told
    assert "epoch 1 of " in told
    assert (model.verbose, model.callbacks) == (0, None)  # who loads it has not asked for lines


@pytest.mark.parametrize(
    ("setting", "name", "expected"),
    [
        ("linear_ngrams=1,2", "linear_ngrams", (1, 2)),
        ("linear_ngrams=None", "linear_ngrams", None),
        ("lr=1e-3", "lr", 0.001),
        ("tokenizer__tokens=web", "tokenizer__tokens", "web"),
        ("class_weight='balanced'", "class_weight", "balanced"),
        ('net_params={"clip_norm": 2.0}', "net_params", {"clip_norm": 2.0}),
    ],
)
def test_values_of_set_are_literals_or_strings(fit, setting, name, expected):
    _, _, model = fit("--set", setting)
    assert model.get_params()[name] == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--set", "lr=-1"], (1, "The 'lr' parameter of HANClassifier must be")),
        (["-o", "nowhere/m.han"], (1, "There is no folder")),
        (["--set", "epochs=3"], (2, "no parameter 'epochs'. Did you mean 'max_epochs'?")),
        (["--set", "tokenizer__token=web"], (2, "'tokenizer__token'. Did you mean 'tokenizer__t")),
        (["--quiet"], (0, "")),
    ],
)
def test_a_wrong_option_is_reported_in_the_last_line(fit, options, expected):
    code, told, _ = fit(*options)
    assert (code, expected[1] in (told.splitlines() or [""])[-1]) == (expected[0], True), told
    assert ("--quiet" in options) == (told == "")


def test_a_text_column_of_numbers_raises_a_warning(fit, table):
    numbers = table([(0, "51", "pos"), (1, "52", "neg")])
    with pytest.raises(UserWarning, match=r"such as '51': is --text the right column\?"):
        fit(data=numbers)


@pytest.mark.filterwarnings("always")
def test_doubtful_texts_warn(fit, table):
    rows = [(n, "nan" if n < 3 else f"{TEXTS[n % 6]} {n}", LABELS[n % 6]) for n in range(40)]
    path = table(rows)
    code, told, _ = fit("--validation", path, data=path)
    assert code == 0
    assert "warning: 3 of 40 texts are 'nan', probably missing values" in told
    assert "warning: 40 of 40 validation documents are training documents" in told


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class TestHoldOut:
    def test_held_out_documents_are_written_and_not_trained_on(self, run, fit, table, tmp_path):
        held = tmp_path / "m.test.csv"
        code, told, model = fit("--hold-out", "0.25")
        assert code == 0
        found = rows_of(held)
        assert f"Held {len(found)} documents out, in {held}; the {18 - len(found)} others" in told
        texts = [row["text"] for row in found]
        rest = [i for i, text in enumerate(TEXTS) if text not in texts]
        assert len(rest) + len(found) == len(TEXTS)  # texts of the same words stay together
        expected = tiny(**PARAMS).fit([TEXTS[i] for i in rest], LABELS[rest])
        np.testing.assert_array_equal(model.predict_proba(TEXTS), expected.predict_proba(TEXTS))
        label_of = dict(zip(TEXTS, LABELS.tolist(), strict=True))
        assert all(label_of[row["text"]] == row["label"] for row in found)
        assert run("evaluate", tmp_path / "m.han", held)[0] == 0
        learnt = rows_of(tmp_path / "m.train.csv")
        assert [row["text"] for row in learnt] == [TEXTS[i] for i in rest]
        code, printed, _ = run(
            *("evaluate", tmp_path / "m.han", held, "--train", tmp_path / "m.train.csv")
        )
        assert code == 0
        assert f"fitted to the {len(rest)} training documents given." in printed

    def test_the_held_out_table_keeps_encoding_and_separator(self, run, tmp_path):
        data, held, model = (tmp_path / name for name in ("data.csv", "m.test.csv", "m.han"))
        lines = ["text;label", *(f"Ärger für {i} €.;{'ja' if i % 2 else 'nö'}" for i in range(40))]
        data.write_text("\n".join(lines), encoding="cp1252")
        options = ("--encoding", "cp1252", "--sep", ";", "--hold-out", "0.2")
        assert run("fit", data, "-o", model, *SMALL, *options)[0] == 0
        assert held.read_text("cp1252").count("Ärger für") == 8
        assert run("evaluate", model, held)[0] == 0

    def test_too_few_documents_are_an_error(self, fit, table, tmp_path):
        rows = [(0, "Good.", "pos"), (1, "Bad.", "neg"), (2, "Good so.", "pos")]
        code, told, _ = fit("--hold-out", "0.2", data=table(rows))
        assert code == 1
        assert "0.2 of 3 documents are too few to hold some of each label out." in told


class TestColumns:
    @pytest.fixture
    def data(self, table):
        """A table whose columns decide: a category, and numbers and dates that say nothing."""
        rows = [
            (i, f"It was day {i}. Good.", n, n.upper(), i % 7 or "", f"2024-01-{i % 28 + 1:02}")
            for i, n in enumerate(20 * ["pos", "neg", "neg"])
        ]
        return table(rows, header=("id", "text", "label", "product", "amount", "day"))

    def test_columns_are_learnt_stored_and_read_again(self, fit, run, data, tmp_path):
        code, told, model = fit("--columns", "product", "amount", "day", data=data)
        assert code == 0, told
        kinds = [each.kind for each in model.column_model_.encoder.codings.values()]
        assert kinds == ["category", "number", "date"]
        path = tmp_path / "m.han"
        code, output, _ = run("evaluate", path, data, "--json")
        assert (code, json.loads(output)["scores"]["model"]["accuracy"]) == (0, 1.0)
        code, output, _ = run("predict", path, data, "--keep", "label")
        rows = list(csv.reader(output.splitlines()))[1:]
        assert code == 0
        assert all(label == prediction for label, prediction in rows)
        assert "product = POS" in run("explain", path, data, "--rows", 1)[1]
        assert run("evaluate", path, data)[0] == 0

    def test_validation_and_unlabelled_tables_have_the_columns_too(self, fit, table, data):
        rows = [(1, "A good day.", "pos", "POS", "3"), (2, "A bad day.", "neg", "NEG", "")]
        validation = table(rows, "v.csv", ("id", "text", "label", "product", "amount"))
        texts = table([("It rains.",)], "u.csv", ("text",))
        options = ("--columns", "product", "amount", "--validation", validation)
        code, told, model = fit(*options, "--unlabelled", texts, data=data)
        assert code == 0, told
        assert model.fit_summary_.n_scored == 2

    def test_errors_name_the_column(self, fit, run, data, table, tmp_path):
        assert "'price'" in fit("--columns", "price", data=data)[1]
        fit("--columns", "amount", data=data)
        other = table([(1, "Good.", "many")], "o.csv", ("id", "text", "amount"))
        code, _, told = run("predict", tmp_path / "m.han", other)
        assert (code, "'amount'" in told, "line 2" in told) == (1, True, True)


class TestCrossValidate:
    @pytest.fixture
    def data(self, table):
        """A table of 36 documents by 6 authors, with a column."""
        header = ("text", "label", "author", "price")
        rows = [
            (f"{text} Then it was day {i}.", LABELS[i % 18], f"author {i % 6}", i)
            for i, text in enumerate(TEXTS * 2)
        ]
        return table(rows, header=header)

    def test_each_fold_is_scored_by_a_model_of_the_others(self, run, data, monkeypatch):
        learnt = spied_fits(monkeypatch)
        code, output, told = run("cross-validate", data, "--folds", 3, *SMALL)
        assert code == 0, told
        (head, accuracy, f1) = [line.split() for line in output.splitlines()]
        assert head[:3] == ["metric", "mean", "std"]
        assert (accuracy[0], f1[0]) == ("accuracy", "f1_macro")
        of_folds = np.array(accuracy[3:], dtype=float)
        assert float(accuracy[1]) == pytest.approx(of_folds.mean(), abs=1e-4)
        assert float(accuracy[2]) == pytest.approx(of_folds.std(ddof=1), abs=1e-4)
        texts = [set(X) for X, _ in learnt]
        assert len(learnt) == len(of_folds) == 3
        assert [len(X) for X, _ in learnt] == [24, 24, 24]
        assert not set.intersection(*texts)
        for _, y in learnt:  # stratified by label
            assert (y == "pos").sum() == (LABELS == "pos").sum() * 24 / 18

    def test_folds_keep_groups_together_and_use_columns_and_unlabelled_texts(
        self, run, data, monkeypatch
    ):
        learnt = spied_fits(monkeypatch)
        columns = ["--columns", "price", "--groups", "author", "--unlabelled", data]
        with open(data, "a", encoding="utf-8") as file:
            file.write("Without a label.,,author 1,3\n")
        code, _, told = run("cross-validate", data, "--folds", 3, *SMALL, *columns)
        assert code == 0, told
        for X, _ in learnt:
            assert list(X.columns) == ["text", "price"]
            assert len({int(price) % 6 for price in X["price"]}) == 4

    def test_a_file_has_a_row_for_each_metric(self, run, data, tmp_path):
        path = tmp_path / "folds.csv"
        options = ["--folds", 2, *SMALL, "--metrics", "neg_log_loss", "accuracy", "-o", path]
        assert run("cross-validate", data, *options)[:2] == (0, "")
        head, *rows = csv.reader(path.read_text("utf-8").splitlines())
        assert head == ["metric", "mean", "std", "fold 1", "fold 2"]
        assert [row[0] for row in rows] == ["neg_log_loss", "accuracy"]
        code, _, told = run("cross-validate", data, *options)
        assert (code, "--force" in told) == (1, True)

    @pytest.mark.parametrize(
        ("options", "code", "message"),
        [
            (["--metrics", "f1_makro"], 2, "no scorer is 'f1_makro'. Did you mean 'f1_macro'?"),
            (["--folds", 1], 1, "36 different texts or groups make 2 to 36 folds; got 1."),
            (["--metrics", "f1"], 2, "f1 is of labels 0 and 1; give f1_macro."),
            (["--metrics", "accuracy", "average_precision"], 2, "give roc_auc."),
            (["--groups", "autor"], 1, "has no column 'autor'"),
        ],
    )
    def test_contradictory_options_are_refused_before_training(
        self, run, data, options, code, message
    ):
        found = run("cross-validate", data, *SMALL, *options)
        assert (found[0], message in found[2]) == (code, True), found[2]

    @pytest.mark.parametrize(
        ("labels", "options", "refused"),
        [
            ("01", ["f1", "roc_auc", "average_precision"], ""),
            ("ab", ["roc_auc"], ""),
            ("abc", ["roc_auc"], "give roc_auc_ovr."),
            ("123", ["recall"], "give recall_macro."),
            (["a", "b", "a;b"], ["roc_auc", "f1_macro", "--separator", ";"], ""),
            (["a", "b", "a;b"], ["f1", "--separator", ";"], "give f1_macro."),
        ],
    )
    def test_metrics_that_do_not_suit_the_labels_are_refused(
        self, run, table, monkeypatch, labels, options, refused
    ):
        learnt = spied_fits(monkeypatch)
        rows = [(f"{text} {i}", labels[i % len(labels)]) for i, text in enumerate(TEXTS)]
        data = table(rows, header=("text", "label"))
        code, _, told = run("cross-validate", data, *SMALL, "--folds", 2, "--metrics", *options)
        assert (code, refused in told) == (2 if refused else 0, True), told
        assert len(learnt) == (0 if refused else 2)


def spied_fits(monkeypatch):
    """Return a list that gets documents and labels of each fit."""
    learnt, fit = [], sk_han.HANClassifier.fit

    def spy(self, X, y, **more):
        learnt.append((X, y))
        return fit(self, X, y, **more)

    monkeypatch.setattr(sk_han.HANClassifier, "fit", spy)
    return learnt
