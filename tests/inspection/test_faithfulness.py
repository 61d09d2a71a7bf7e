"""The report as a whole: what goes in, what is refused, what comes out."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from sk_han import explain, faithfulness_report
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, tiny

pytestmark = pytest.mark.filterwarnings("ignore:method='attention' shows the network alone")


@pytest.fixture(scope="module")
def classifier():
    return fitted_classifier(max_epochs=5)


@pytest.fixture(scope="module")
def report(classifier):
    return faithfulness_report(classifier, UNSEEN, methods=("attention",), random_state=0)


# The linear datamodeling score needs three sentences.
LONG = [f"{text} Bad day. The sun is good. A meal." for text in UNSEEN]


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
    def test_the_random_control_is_added(self, classifier, methods, expected):
        assert report_of(classifier, methods=methods).methods == expected

    def test_a_method_and_its_function_are_measured_alike(self, classifier):
        def attention(estimator, X):
            return [e.contributions for e in explain(estimator, X, method="attention")]

        found = report_of(classifier, methods={"name": "attention", "function": attention})
        for by_method in found.values.values():
            np.testing.assert_array_equal(by_method["name"], by_method["function"])


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
            values = np.delete(whole.values[metric]["first"], 6)
            np.testing.assert_allclose(values, part.values[metric]["first"], atol=1e-6)

    def test_an_iterator_is_read_once_for_all_methods(self, classifier):
        listed, iterated = report_of(classifier), report_of(classifier, iter(UNSEEN))
        assert listed.means == iterated.means

    def test_a_model_of_one_class_never_flips_or_drops(self):
        with pytest.warns(UserWarning, match="single class"):
            same = tiny().fit(TEXTS, ["pos"] * len(TEXTS))
        found = report_of(same, TEXTS[:3])
        assert found.means["flip"]["first"] == 1.0
        assert found.means["comprehensiveness"]["first"] == 0.0


class TestNumbers:
    def test_removing_all_words_leaves_the_empty_document(self, classifier):
        found = report_of(classifier, fractions=[1.0])
        proba, empty = classifier.predict_proba(UNSEEN), classifier.predict_proba([""])[0]
        expected = proba.max(axis=1) - empty[proba.argmax(axis=1)]
        np.testing.assert_allclose(
            np.delete(found.values["comprehensiveness"]["first"], 6), np.delete(expected, 6)
        )

    def test_comprehensiveness_compares_texts_with_and_without_the_words(self):
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

    def test_intervals_of_differences_are_paired(self, classifier):
        found = report_of(classifier, LONG)
        for metric, by_method in found.values.items():
            pairs = by_method["first"] - by_method["random"]
            expected = ttest_1samp(pairs, 0, nan_policy="omit").confidence_interval()
            assert found.differences[metric]["first"] == pytest.approx(expected)

    def test_the_random_control_does_not_differ_from_itself(self, classifier):
        found = report_of(classifier, methods={"chance": "random"})
        assert found.differences["flip"]["chance"] == (0.0, 0.0)

    def test_seconds_are_the_time_to_explain_one_document(self, classifier):
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
    def test_only_the_same_seed_gives_the_same_report(self, classifier, source):
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


def test_the_plot_shows_both_means_of_each_method(report):
    pytest.importorskip("matplotlib").use("agg")
    ax = report.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["attention", "random"]
    drawn = [container.lines[0].get_xdata().tolist() for container in ax.containers]
    assert drawn == [
        [report.means[metric][method] for method in report.methods]
        for metric in ("comprehensiveness", "sufficiency")
    ]


class TestOneOrTwoDocuments:
    @pytest.fixture(params=[1, 2])
    def lone(self, classifier, request):
        texts = LONG[: request.param]
        return report_of(classifier, ["", *texts])

    def test_one_or_two_documents_have_means_and_no_interval(self, lone):
        for metric in lone.metrics:
            for method in lone.methods:
                assert np.isfinite(lone.means[metric][method])
                assert np.isnan(lone.intervals[metric][method]).all()
            assert np.isnan(lone.differences[metric]["first"]).all()
            assert lone.may_be_chance(metric, "first")
