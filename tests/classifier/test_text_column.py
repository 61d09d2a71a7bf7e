"""HANClassifier(text_column=...): texts and columns of a table in one model."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
)

import sk_han
from sk_han import HierarchicalTokenizer, audit_labels, load, save
from sk_han.serving import Scorer
from tests.tiny_models import BAD, GOOD, tiny

RNG = np.random.RandomState(0)
N = 240
LABELS = np.where(RNG.rand(N) < 0.5, "pos", "neg")
# Texts that say nothing of the label, so that columns alone decide.
FRAME = pd.DataFrame(
    {
        "product": [
            y if told else "other" for y, told in zip(LABELS, RNG.rand(N) < 0.8, strict=True)
        ],
        "body": [f"{(GOOD + BAD)[i % 6]} It was day {i}." for i in RNG.permutation(N)],
        "amount": np.where(RNG.rand(N) < 0.1, np.nan, RNG.randn(N)),
        "day": pd.date_range("2024-01-01", periods=N),
        "urgent": RNG.rand(N) < 0.5,
    },
    index=range(7, 7 + N),
)
TRAIN, TEST = FRAME[:160], FRAME[160:]
Y, Y_TEST = LABELS[:160], LABELS[160:]


TITLED = pd.DataFrame(
    {
        "body": ["It was a day. We came by train."] * 40,
        "title": ["Lovely stay", None, "Dreadful stay", ""] * 10,
    }
)
SIDES = np.array(["pos", "pos", "neg", "neg"] * 10)


@pytest.fixture(scope="module")
def fitted():
    return tiny(text_column="body").fit(TRAIN, Y)


class TestPrediction:
    def test_columns_decide_if_texts_are_uninformative(self, fitted):
        assert fitted.score(TEST, Y_TEST) > 0.8
        assert fitted.column_scale_ > 0.5
        assert "columns" in fitted.fit_summary_.shares

    def test_feature_names_in_lists_the_columns_that_are_read(self, fitted):
        names = ["body", "product", "amount", "day", "urgent"]
        assert fitted.feature_names_in_.tolist() == names
        assert fitted.n_features_in_ == 5
        chosen = tiny(text_column="body", columns=["urgent"]).fit(TRAIN, Y)
        assert chosen.feature_names_in_.tolist() == ["body", "urgent"]
        assert chosen.predict(TEST).tolist() == chosen.predict(TEST[["urgent", "body"]]).tolist()

    def test_without_other_columns_only_texts_count(self):
        alone = tiny().fit(TRAIN["body"], Y).predict_proba(TEST["body"])
        found = tiny(text_column="body", columns=[]).fit(TRAIN, Y).predict_proba(TEST)
        np.testing.assert_allclose(found, alone, atol=0.02)

    def test_transform_returns_vectors_of_the_texts_alone(self, fitted):
        np.testing.assert_array_equal(
            fitted.transform(TEST), fitted.transform(TEST.assign(product="other"))
        )

    def test_an_unseen_value_is_ignored_with_a_warning(self, fitted):
        with pytest.warns(UserWarning, match="'product' has 80 values that no two training"):
            found = fitted.predict_proba(TEST.assign(product="new"))
        assert np.isfinite(found).all()


class TestFiles:
    def test_files_pickles_and_scorers_restore_a_model_of_columns(self, fitted, tmp_path):
        save(fitted, tmp_path / "model.han")
        expected = fitted.predict_proba(TEST)
        for model in (load(tmp_path / "model.han"), pickle.loads(pickle.dumps(fitted))):
            np.testing.assert_array_equal(model.predict_proba(TEST), expected)
            assert model.feature_names_in_.tolist() == fitted.feature_names_in_.tolist()
        scorer = Scorer.load(tmp_path / "model.han")
        frame = scorer.predict_frame(TEST)
        assert frame.index.equals(TEST.index)
        assert frame["prediction"].tolist() == fitted.predict(TEST).tolist()
        pd.testing.assert_frame_equal(
            scorer.predict_frame(dict(TEST)), frame.reset_index(drop=True), check_dtype=True
        )
        for none in (TEST[:0], dict(TEST[:0])):
            assert scorer.predict_frame(none).dtypes.equals(frame.dtypes)
        for here, there in zip(scorer.explain(TEST[:2]), fitted.explain(TEST[:2]), strict=True):
            np.testing.assert_allclose(
                here.column_contributions, there.column_contributions, atol=1e-5
            )

    def test_weights_that_do_not_match_the_columns_are_refused(self, fitted):
        state = fitted.to_state()
        learnt = state["parts"]["columns"]["learnt"]
        learnt["weights"] = learnt["weights"][:-1]
        with pytest.raises(sk_han.ModelFormatError, match="not those of its columns"):
            tiny().from_state(state)


@pytest.fixture(scope="module")
def titled():
    return tiny(text_column=["title", "body"]).fit(TITLED, SIDES)


class TestSeveralTexts:
    """`text_column=["title", "body"]`."""

    def test_texts_of_a_document_are_joined_by_blank_lines(self, titled):
        explained = titled.explain(TITLED[:2])
        assert explained[0].text == "Lovely stay\n\nIt was a day. We came by train."
        assert explained[1].text == "It was a day. We came by train."
        assert titled.feature_names_in_.tolist() == ["title", "body"]

    def test_explanations_name_the_column_of_each_sentence(self, titled):
        (explained,) = titled.explain(TITLED[:1])
        assert explained.sentence_fields == ("title", "body", "body")
        assert explained.to_frame("sentence")["field"].tolist() == ["title", "body", "body"]
        text = explained.to_text()
        assert "title: Lovely stay" in text
        assert text.count("body: ") == 1
        assert "title: " in explained.to_html()

    def test_files_and_scorers_read_the_same_texts(self, titled, tmp_path):
        save(titled, tmp_path / "model.han")
        expected = titled.predict_proba(TITLED[:4])
        scorer = Scorer.load(tmp_path / "model.han")
        np.testing.assert_allclose(scorer.predict_proba(TITLED[:4]), expected, atol=1e-6)
        (explained,) = scorer.explain(TITLED.to_dict("records")[:1])
        assert explained.sentence_fields == ("title", "body", "body")

    def test_missing_columns_are_named(self, titled):
        with pytest.raises(ValueError, match=r"now missing:\n- title"):
            titled.predict(TITLED[["body"]])

    def test_an_audit_reads_all_text_columns(self):
        frame = TITLED.assign(title=[f"Room {i // 2}" for i in range(40)])
        audit = audit_labels(
            tiny(text_column=["title", "body"], max_epochs=1), frame, SIDES, n_explained=0
        )
        assert len(audit.documents) == 40


class TestErrors:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda X: X.drop(columns="amount"), r"now missing:\n- amount"),
            (lambda X: X.assign(new=1), r"unseen at fit time:\n- new"),
            (lambda X: X.rename(columns={"amount": "Amount"}), "Did you mean 'amount'?"),
            (lambda X: X.assign(body=3), "Column 'body', row 0, is an int"),
            (lambda X: X["body"].tolist(), "reads a table, and X is a list"),
            (lambda X: HierarchicalTokenizer().fit_transform(X["body"]), "reads tables: X needs"),
        ],
    )
    def test_errors_of_a_prediction_name_the_column(self, fitted, change, message):
        with pytest.raises((TypeError, ValueError), match=message):
            fitted.predict(change(TEST))

    @pytest.mark.parametrize(
        ("params", "change", "message"),
        [
            ({"text_column": "text"}, lambda X: X, "no column 'text'; its columns are 'product'"),
            ({"text_column": None}, lambda X: X, "One text a document expected"),
            ({"text_column": None, "columns": ["day"]}, lambda X: X, "columns needs text_column"),
            ({"columns": {"day": "numeric"}}, lambda X: X, "is 'numeric'; give one of 'number'"),
            ({"text_column": 3}, lambda X: X, "text_column"),
            ({"text_column": []}, lambda X: X, "text_column is an empty list"),
            ({"text_column": ["body", "title"]}, lambda X: X, "no column 'title'"),
            ({"columns": ["price"]}, lambda X: X, "no column 'price'"),
            ({"columns": ["body"]}, lambda X: X, "columns has 'body', which text_column reads"),
            ({}, lambda X: X.assign(label=Y), "Column 'label' holds the labels"),
            ({}, lambda X: X.set_axis(5 * ["body"], axis=1), "names of their own"),
            ({}, lambda X: X.rename(columns={"day": 7}), "names of their own"),
            ({}, lambda X: dict(X.assign()) | {"\ud800": Y}, "surrogates not allowed"),
            ({}, lambda X: pl.from_pandas(X).lazy(), "X is a LazyFrame"),
            ({}, lambda X: dict(X.assign()) | {"amount": [1]}, "'amount' has 1 value for 160"),
            ({}, lambda X: HierarchicalTokenizer().fit_transform(X["body"]), "a tokenizer goes"),
        ],
    )
    def test_errors_of_a_fit_name_the_column(self, params, change, message):
        with pytest.raises((TypeError, ValueError), match=message):
            tiny(**{"text_column": "body"} | params).fit(change(TRAIN), Y)

    def test_partial_fit_with_columns_is_refused(self):
        with pytest.raises(ValueError, match="partial_fit does not learn from columns"):
            tiny(text_column="body").partial_fit(TRAIN, Y, classes=["neg", "pos"])


class TestMetaEstimators:
    @pytest.mark.parametrize("meta", [BaggingClassifier, AdaBoostClassifier])
    def test_meta_estimators_that_pass_an_array_are_refused(self, meta):
        message = r"shape \(160, 3\), whose columns have no names.* such as VotingClassifier"
        with pytest.raises(TypeError, match=message):
            meta(tiny(text_column="body")).fit(TRAIN[["body", "product", "urgent"]], Y)


class TestExplanations:
    @pytest.mark.parametrize("labels", [Y, np.where(np.arange(160) % 3, Y, "none")])
    def test_sentences_and_columns_sum_to_the_log_odds(self, labels):
        classifier = tiny(text_column="body").fit(TRAIN, labels)
        for each in classifier.explain(TEST[:5]):
            p = each.predicted_probability
            total = each.base_value + each.sentence_contributions.sum()
            total += each.column_contributions.sum()
            assert total == pytest.approx(np.log(p / (1 - p)), abs=1e-5)
            assert each.column_names == ("product", "amount", "day", "urgent")

    def test_the_column_that_decides_has_the_largest_bar(self, fitted):
        (explanation,) = fitted.explain(TEST[TEST["product"] == "pos"][:1], target="pos")
        columns = explanation.to_dict()["columns"]
        sizes = {column["name"]: column["contribution"] for column in columns}
        assert sizes["product"] == max(sizes.values()) > 0.5
        assert list(sizes.values()) == pytest.approx(explanation.column_contributions)
        assert columns[0]["value"] == explanation.column_values[0] == "pos"
        for shown in (explanation.to_text(), explanation.to_html()):
            assert "product = pos" in shown

    def test_contributions_of_columns_are_exact_with_two_classes(self, fitted):
        document = TEST[TEST["product"] == "pos"][:1]
        z = fitted.decision_function(document)[0]
        other = fitted.decision_function(document.assign(product="neg"))[0]
        first, second = (
            fitted.explain(each, target="pos")[0].column_contributions[0]
            for each in (document, document.assign(product="neg"))
        )
        assert first - second == pytest.approx(z - other, abs=1e-6)

    def test_markup_in_names_and_values_is_escaped(self):
        frame = TRAIN.assign(product=[f"<script>{y}" for y in Y]).rename(
            columns={"amount": "<script>amount"}
        )
        page = tiny(text_column="body").fit(frame, Y).explain(frame[:1]).to_html()
        assert "<script>amount" not in page
        assert "<script>pos" not in page

    @pytest.mark.parametrize(
        "result",
        [
            lambda model, X: model.explain(X, target=Y_TEST),
            lambda model, X: sk_han.explain_classes(model, X),
            lambda model, X: sk_han.summarize(model, X, max_documents=70),
            lambda model, X: sk_han.report(model, X, Y_TEST, X_train=X, y_train=Y_TEST),
            lambda model, X: sk_han.audit_labels(model, X, Y_TEST),
            lambda model, X: sk_han.selective_threshold(model, X, Y_TEST, max_error=0.3),
            lambda model, X: sk_han.faithfulness_report(model, X, random_state=0),
        ],
    )
    def test_a_mapping_of_columns_is_read_like_records(self, fitted, result):
        mapping = {name: TEST[name].to_numpy() for name in TEST}
        texts = [result(fitted, X).to_text() for X in (mapping, TEST.to_dict("records"))]
        of_mapping, of_records = (re.sub(r"\b\d+\.\d\b|\s+", "", text) for text in texts)  # times
        assert of_mapping == of_records
        with pytest.raises(ValueError, match=r"differ in their numbers of values: .*'amount': 1"):
            result(fitted, mapping | {"amount": [1]})


def test_vectors_in_a_column_transformer_warn_and_suggest_text_column():
    columns = ColumnTransformer([("body", tiny(), "body"), ("n", "passthrough", ["amount"])])
    with pytest.warns(UserWarning, match=r"overfits.*HANClassifier\(text_column=...\)"):
        columns.fit_transform(TRAIN, Y)
