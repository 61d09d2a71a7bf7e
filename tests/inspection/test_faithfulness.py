"""The report as a whole: what goes in, what is refused, what comes out."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from sk_han import DocumentArray, explain, faithfulness_report
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, fitted_pipeline, tiny


@pytest.fixture(scope="module")
def classifier():
    return fitted_classifier(max_epochs=5)


@pytest.fixture(scope="module")
def report(classifier):
    return faithfulness_report(
        classifier, UNSEEN, methods=("attention",), rationales=FIRST_WORDS, random_state=0
    )


# UNSEEN has eight documents; the seventh is empty.
FIRST_WORDS = [[(0, 2)], [(0, 2)], [(0, 4)], [(0, 2)], [(0, 2)], [], [], [(0, 1), (2, 6)]]


def reading_order(estimator, X):
    """Score the first word of each document highest."""
    return [-np.arange(len(e.words), dtype=float) for e in explain(estimator, X)]


def report_of(estimator, X=UNSEEN, **params):
    defaults = {"methods": {"first": reading_order}, "random_state": 0}
    return faithfulness_report(estimator, X, **{**defaults, **params})


class TestMethods:
    @pytest.mark.parametrize(
        ("methods", "expected"),
        [
            (["attention"], ("attention", "random")),
            (["random", "attention"], ("random", "attention")),
            ({"ours": "attention", "first": reading_order}, ("ours", "first", "random")),
        ],
    )
    def test_the_control_is_added(self, classifier, methods, expected):
        assert report_of(classifier, methods=methods).methods == expected

    def test_a_name_and_a_function_that_gives_its_numbers_are_measured_alike(self, classifier):
        def attention(estimator, X):
            return [e.contributions for e in explain(estimator, X, method="attention")]

        found = report_of(classifier, methods={"name": "attention", "function": attention})
        for by_method in found.values.values():
            np.testing.assert_array_equal(by_method["name"], by_method["function"])

    def test_a_function_gets_the_estimator_and_the_documents_as_they_were_given(self, classifier):
        seen = []

        def method(estimator, X):
            seen.append((estimator, X))
            return reading_order(estimator, X)

        report_of(classifier, methods={"own": method})
        ((estimator, X),) = seen
        assert estimator is classifier
        assert X == UNSEEN

    @pytest.mark.parametrize(
        ("row", "scores", "message"),
        [
            (8, [0.0], "returned scores for 9 documents; expected 8"),
            (3, np.zeros(9), r"returned scores of shape \(9,\) for document 3, which has 10"),
            (7, [0.0, np.nan, 0, 0, 0, 0], "returned nan for word 1 of document 7"),
            (7, [-np.inf, 0, 0, 0, 0, 0], "returned -inf for word 0 of document 7"),
        ],
    )
    def test_scores_that_do_not_fit_the_words_are_refused(self, classifier, row, scores, message):
        def method(estimator, X):
            found = reading_order(estimator, X)
            return [*found[:row], scores, *found[row + 1 :]]

        with pytest.raises(ValueError, match=f"'own' {message}"):
            report_of(classifier, methods={"own": method})

    @pytest.mark.parametrize(
        ("methods", "error", "message"),
        [
            *(
                (lone, TypeError, "methods must be a sequence.* Put a single method into")
                for lone in ("attention", reading_order, None, 3)
            ),
            *(
                (methods, TypeError, "must be the name of a method of explain")
                for methods in ({"own": 3}, [reading_order], {3: "attention"}, [["attention"]])
            ),
            (["lime"], ValueError, "lime"),
            ({"own": lambda model, X: None}, TypeError, "'own' returned a NoneType; it must"),
        ],
    )
    def test_what_is_no_method_is_refused(self, classifier, methods, error, message):
        with pytest.raises(error, match=message):
            report_of(classifier, methods=methods)

    @pytest.mark.parametrize("method", ["attention", reading_order])
    def test_the_control_cannot_be_replaced(self, classifier, method):
        with pytest.raises(ValueError, match="'random' is the name of the control"):
            report_of(classifier, methods={"random": method})


class TestDocuments:
    def test_documents_without_words_are_left_out_and_counted(self, report):
        assert report.n_documents == 8
        assert report.n_without_words == 1
        for metric in ("comprehensiveness", "sufficiency", "flip"):
            missing = np.isnan(report.values[metric]["attention"])
            assert np.flatnonzero(missing).tolist() == [6]

    def test_an_empty_document_does_not_change_the_values_of_others(self, classifier):
        without = [text for text in UNSEEN if text]
        whole, part = report_of(classifier), report_of(classifier, without)
        for metric in whole.metrics:
            values = whole.values[metric]["first"]
            np.testing.assert_allclose(
                values[~np.isnan(values)], part.values[metric]["first"], atol=1e-6
            )

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (UNSEEN[0], "string object received"),
            ([], "0 sample"),
            (["", " "], "None of the 2 documents has a word"),
        ],
    )
    def test_what_has_nothing_to_remove_is_refused(self, classifier, X, message):
        with pytest.raises(ValueError, match=message):
            report_of(classifier, X)

    def test_an_iterator_is_read_once_for_all_methods(self, classifier):
        listed, iterated = report_of(classifier), report_of(classifier, iter(UNSEEN))
        assert listed.means == iterated.means

    def test_word_ids_have_the_values_of_their_texts(self, classifier):
        documents = classifier.tokenizer_.transform(UNSEEN)
        assert isinstance(documents, DocumentArray)
        assert report_of(classifier, documents).means == report_of(classifier).means

    def test_a_pipeline_has_the_values_of_its_classifier(self):
        pipeline = fitted_pipeline()
        texts = report_of(pipeline)
        documents = report_of(pipeline[-1], pipeline[0].transform(UNSEEN))
        assert texts.means == documents.means

    def test_one_class_never_flips_and_never_falls(self):
        with pytest.warns(UserWarning, match="single class"):
            same = tiny().fit(TEXTS, ["pos"] * len(TEXTS))
        found = report_of(same, TEXTS[:3])
        assert found.means["flip"]["first"] == 1.0
        assert found.means["comprehensiveness"]["first"] == 0.0

    @pytest.mark.parametrize(
        "fractions", [[], [0.0], [0.1, 1.1], [float("nan")], 0.1, None, "1", ["0.1"]]
    )
    def test_fractions_that_are_no_share_are_refused(self, classifier, fractions):
        with pytest.raises(ValueError, match=r"numbers in \(0, 1\]"):
            report_of(classifier, fractions=fractions)


class TestNumbers:
    def test_all_words_taken_out_leave_the_empty_document(self, classifier):
        found = report_of(classifier, fractions=[1.0])
        proba, empty = classifier.predict_proba(UNSEEN), classifier.predict_proba([""])[0]
        expected = proba.max(axis=1) - empty[proba.argmax(axis=1)]
        np.testing.assert_allclose(
            np.delete(found.values["comprehensiveness"]["first"], 6), np.delete(expected, 6)
        )

    def test_it_is_what_texts_without_the_words_are_predicted_as(self):
        # Words are cut out within their sentence, so the rest of the text reads the same.
        labels = np.where(np.array(LABELS) == "pos", 1, 0)
        classifier = tiny(max_epochs=5).fit(TEXTS, labels)
        found = report_of(classifier, ["Bad meal. The sun shone."], fractions=[1 / 7])
        whole, without = classifier.predict_proba(
            ["Bad meal. The sun shone.", "meal. The sun shone."]
        )
        top = whole.argmax()
        assert found.means["comprehensiveness"]["first"] == pytest.approx(
            whole[top] - without[top], abs=1e-6
        )

    def test_means_are_of_the_documents_that_count(self, report):
        values = report.values["flip"]["attention"]
        assert report.means["flip"]["attention"] == pytest.approx(np.nanmean(values))

    def test_intervals_hold_their_means(self, report):
        for metric in report.metrics:
            for method in report.methods:
                low, high = report.intervals[metric][method]
                if np.ptp(report.values[metric][method]) > 0:
                    assert low <= report.means[metric][method] <= high

    def test_an_interval_of_a_difference_is_that_of_the_pairs(self, classifier):
        found = report_of(classifier)
        for metric, by_method in found.values.items():
            pairs = by_method["first"] - by_method["random"]
            expected = ttest_1samp(pairs, 0, nan_policy="omit").confidence_interval()
            assert found.differences[metric]["first"] == pytest.approx(expected)

    def test_a_method_that_is_the_control_differs_by_nothing(self, classifier):
        found = report_of(classifier, methods={"chance": "random"})
        assert found.differences["flip"]["chance"] == (0.0, 0.0)

    def test_seconds_are_those_of_explaining_one_document(self, classifier):
        from time import perf_counter, sleep

        def slow(estimator, X):
            sleep(0.08)
            return reading_order(estimator, X)

        start = perf_counter()
        found = report_of(classifier, methods={"slow": slow})
        of_all = perf_counter() - start  # a busy machine may take any time
        assert 0.08 / len(UNSEEN) <= found.seconds["slow"] <= of_all / len(UNSEEN)


class TestSeeds:
    @pytest.mark.parametrize("source", [int, np.random.default_rng])
    def test_the_same_seed_gives_the_same_report_and_another_another(self, classifier, source):
        first, again, other = (
            report_of(classifier, random_state=source(seed)) for seed in (0, 0, 1)
        )
        assert first.means == again.means != other.means
        assert first.intervals == again.intervals

    @pytest.mark.parametrize("random_state", [None, 0])
    def test_the_global_random_state_is_left_alone(self, classifier, random_state):
        before = pickle.dumps(np.random.get_state())
        report_of(classifier, random_state=random_state)
        assert pickle.dumps(np.random.get_state()) == before


class TestRationales:
    def test_documents_without_a_marked_word_are_left_out_and_counted(self, report):
        # The empty document has no word to mark, and counts as one without words.
        assert report.n_without_rationale == 1
        missing = np.isnan(report.values["auprc"]["attention"])
        assert np.flatnonzero(missing).tolist() == [5, 6]

    def test_a_method_that_ranks_marked_words_first_is_perfect(self, classifier):
        found = report_of(classifier, rationales=FIRST_WORDS)
        assert found.means["auprc"]["first"] == found.means["token_f1"]["first"] == 1.0

    def test_without_rationales_there_is_no_such_metric(self, classifier):
        found = report_of(classifier)
        assert found.metrics == ("comprehensiveness", "sufficiency", "flip")
        assert found.n_without_rationale is None

    def test_no_marked_word_at_all_has_no_mean(self, classifier):
        found = report_of(classifier, rationales=[[]] * 8)
        assert np.isnan(found.means["auprc"]["first"])
        assert found.n_without_rationale == 7


class TestReport:
    def test_it_survives_pickling(self, report):
        again = pickle.loads(pickle.dumps(report))
        assert again.means == report.means
        assert str(again) == str(report)

    def test_the_table_has_a_row_for_each_method(self, report):
        lines = str(report).splitlines()[1:]
        assert lines[0].split()[:3] == ["method", "comprehensiveness", "↑"]
        assert [line.split()[0] for line in lines[1:3]] == ["attention", "random"]
        mean = report.means["sufficiency"]["random"]
        assert f"{mean:.3f} [" in lines[2]

    def test_the_table_marks_what_may_be_chance(self, report):
        telling = {
            metric: {"attention": (0.0 if metric == "flip" else 0.1, 0.2)}
            for metric in report.metrics
        }
        table = str(dataclasses.replace(report, differences=telling))
        mean, interval = report.means["flip"]["attention"], report.intervals["flip"]["attention"]
        said = " ".join(table.split())
        assert "8 documents (1 without words left out); 1 without a marked word left out of" in said
        assert table.count(" ≈ [") == 1
        assert "{:.3f} ≈ [{:.3f}, {:.3f}]".format(mean, *interval) in table
        assert " ".join(table.split()).endswith(
            " ≈ may be chance: the confidence interval of the difference from random contains 0 or "
            "is missing."
        )
        telling = {metric: {"attention": (-0.2, -0.1)} for metric in report.metrics}
        assert "≈" not in str(dataclasses.replace(report, differences=telling))

    def test_the_frame_has_a_row_for_each_method(self, report):
        pytest.importorskip("pandas")
        frame = report.to_frame()
        assert frame.index.tolist() == ["attention", "random"]
        assert frame.loc["random", "flip"] == report.means["flip"]["random"]
        assert frame.loc["random", "flip_high"] == report.intervals["flip"]["random"][1]
        assert frame.columns[-1] == "seconds"


def test_each_method_has_a_line_with_both_means(report):
    pytest.importorskip("matplotlib").use("agg")
    ax = report.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["attention", "random"]
    drawn = [container.lines[0].get_xdata().tolist() for container in ax.containers]
    assert drawn == [
        [report.means[metric][method] for method in report.methods]
        for metric in ("comprehensiveness", "sufficiency")
    ]


def test_rationales_of_word_ids_are_refused(classifier):
    documents = classifier.tokenizer_.transform(UNSEEN)
    with pytest.raises(TypeError, match=r"rationales are positions in raw texts.*Pass the texts"):
        faithfulness_report(classifier, documents, rationales=FIRST_WORDS)


class TestOneOrTwoDocuments:
    @pytest.fixture(params=[1, 2])
    def lone(self, classifier, request):
        texts = UNSEEN[: request.param]
        return report_of(classifier, ["", *texts], rationales=[[], *([(0, 2)] for _ in texts)])

    def test_it_has_means_and_no_interval(self, lone):
        for metric in lone.metrics:
            for method in lone.methods:
                assert np.isfinite(lone.means[metric][method])
                assert np.isnan(lone.intervals[metric][method]).all()
            assert np.isnan(lone.differences[metric]["first"]).all()
            assert lone.may_be_chance(metric, "first")

    def test_the_table_says_why(self, lone):
        shown = str(lone)
        assert shown.count(" [–]") == len(lone.methods) * len(lone.metrics)
        assert shown.count(" ≈ [–]") == len(lone.metrics)
        why = "fewer than three documents, or all values are equal."
        assert f" [–] no interval: {why}" in " ".join(shown.split())
        assert "nan" not in shown
