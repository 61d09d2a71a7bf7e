"""Collections at the edges: one word, one text, very many classes, a class of three documents."""

import tracemalloc

import extremes
import numpy as np
import pytest

from sk_han import audit_labels, report, summarize
from tests.faults.test_accidents import At, fault, state_stays
from tests.thorough import first_fast
from tests.tiny_models import LABELS, TEXTS, tiny


def sound(classifier, texts):
    """Return probabilities after a check that they are some."""
    proba = classifier.predict_proba(texts)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    return proba


class TestSameness:
    @pytest.mark.parametrize("n_documents", first_fast([500, 50_000]))
    def test_a_model_learns_documents_of_one_word(self, n_documents):
        texts, labels = extremes.one_word_each(n_documents)
        classifier = tiny().fit(texts, labels)
        found = sound(classifier, texts[:1_000]).argmax(axis=1)
        assert np.mean(found == labels[:1_000]) > 0.9

    @pytest.mark.parametrize("n_documents", first_fast([400, 50_000]))
    def test_identical_texts_get_the_shares_of_the_classes(self, n_documents):
        texts, labels = extremes.identical(n_documents)
        classifier = tiny().fit(texts, labels)
        proba = sound(classifier, texts[:3])
        np.testing.assert_allclose(proba, proba[[0, 0, 0]], rtol=1e-6)
        np.testing.assert_allclose(proba, 0.5, atol=0.1)


@pytest.fixture
def allow(monkeypatch):
    """Let the process have so many bytes."""

    def allow(n_bytes):
        monkeypatch.setattr("sk_han._fitting.sources.memory_limit", lambda: n_bytes)

    return allow


class TestManyClasses:
    @pytest.mark.filterwarnings("ignore:The number of unique classes")
    @pytest.mark.parametrize("n_classes", first_fast([30, 300]))
    def test_one_document_per_class_is_enough(self, n_classes):
        texts, labels = extremes.many_classes(n_classes, 1)
        with pytest.warns(UserWarning, match="classes have a single document"):
            classifier = tiny(validation_fraction=None).fit(texts, labels)
        assert sound(classifier, texts).shape == (n_classes, n_classes)
        with pytest.raises(ValueError, match=r"Is it fit\(X, y\).*set validation_fraction=None"):
            tiny().fit(labels.astype(str), texts)  # swapped

    @pytest.mark.thorough
    def test_hundreds_of_classes_are_distinguished(self):
        texts, labels = extremes.many_classes(300, 5)
        assert np.mean(tiny().fit(texts, labels).predict(texts) == labels) > 0.9

    @pytest.mark.parametrize("method", first_fast(["fit", "partial_fit"]))
    def test_too_many_classes_are_refused_before_training_changes_the_model(self, allow, method):
        texts, labels = extremes.many_classes(40, 5)
        classifier = tiny().fit(texts, labels)
        allow(100_000)
        classifier.set_params(callbacks=[At("on_train_begin", fault)])
        with (
            state_stays(classifier),
            pytest.raises(MemoryError, match=r"40 classes .* linear_ngrams=None leaves this mod"),
        ):
            getattr(classifier, method)(texts, labels)

    def test_without_the_linear_model_many_classes_are_accepted(self, allow):
        allow(100_000)
        texts, labels = extremes.many_classes(40, 5)
        sound(tiny(linear_ngrams=None).fit(texts, labels), texts)

    @pytest.mark.thorough
    def test_fifty_thousand_classes_are_refused_before_memory_is_allocated(self, allow):
        allow(64 << 30)
        texts, labels = extremes.many_classes(50_000, 2)
        tracemalloc.start()
        try:
            with pytest.raises(
                MemoryError, match=r"of 50,000 classes would take about 10\d\.\d GB"
            ):
                tiny().fit(texts, labels)
            assert tracemalloc.get_traced_memory()[1] < 500_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.filterwarnings("ignore:1 of 2 classes has fewer than 5 documents")
class TestARareClass:
    @pytest.mark.parametrize("n_frequent", first_fast([1_500, 30_000]))
    def test_documents_of_a_rare_class_are_ranked_first(self, n_frequent):
        classifier = tiny().fit(*extremes.imbalanced(3, n_frequent))
        texts, labels = extremes.imbalanced(5, 500)
        rare = sound(classifier, texts)[:, 1]
        assert rare[labels == 1].min() > rare[labels == 0].max()


def test_very_long_labels_are_shortened_in_all_output():
    labels = [100_000 * label for label in LABELS]
    classifier = tiny(validation_fraction=0.3).fit(TEXTS, labels)
    explanations = classifier.explain(TEXTS[:2])
    results = [
        classifier.fit_summary_,
        explanations,
        explanations[0],
        report(classifier, TEXTS, labels),
        summarize(classifier, TEXTS[:4]),
        audit_labels(classifier, TEXTS, labels),
    ]
    for result in results:
        assert max(len(repr(result)), len(str(result)), len(result.to_html())) < 300_000
    with pytest.raises(ValueError, match="target is 'other'") as refused:
        classifier.explain(TEXTS[:2], target="other")
    assert len(str(refused.value)) < 1_000
