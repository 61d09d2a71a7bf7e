"""Linear models together: what each of them counts, by documents that it does not know."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sk_han import HierarchicalTokenizer
from sk_han._documents import LabelledDocuments
from sk_han._fitting.linear import cross_fit
from sk_han._fitting.sources import TextSource
from sk_han._parts import Part
from sk_han._parts.latent import fit_latent_space
from sk_han._parts.pool import LATENT, NGRAMS
from sk_han._targets import AnyOfLabels
from sk_han.datasets import make_reviews
from tests.ngram_models import fit_ngram_model
from tests.tiny_targets import classes


@pytest.fixture(scope="module")
def reviews():
    texts, labels = make_reviews(900, random_state=0)
    documents = HierarchicalTokenizer().fit_transform(texts)
    return LabelledDocuments(documents, (labels == "positive").astype(int), np.ones(900))


@pytest.fixture(scope="module")
def space(reviews):
    return fit_latent_space(reviews.documents, (1, 2), np.random.RandomState(0))


@pytest.fixture(scope="module")
def sources(space):
    return [TextSource((1, 2)), TextSource((1, 2), space=space)]


class Constant(Part):
    """A part that gives the same logits for every document."""

    kind = "constant"

    def logits(self, documents):
        return np.zeros((len(documents), 2))

    attributions = to_state = from_state = None


class FittedBy:
    """A source of n-grams whose models a function makes, given the rows to learn from."""

    name = NGRAMS

    def __init__(self, fit):
        self.fit = fit

    def learner(self, data, target):
        return self


def scored_held_out(models, held_out):
    """Rows of the held-out documents that were scored, and their logits."""
    fit = SimpleNamespace(user_validation=None, held_out=held_out)
    return models.held_out_logits([NGRAMS, LATENT], fit)


class TestFolds:
    def test_each_document_is_scored_by_models_not_fitted_to_it(self, reviews):
        data = reviews[:50]
        learnt_from = []

        def fit(rows):
            learnt_from.append(rows)
            return fit_ngram_model(data[rows], classes(2), (1, 1))

        models = cross_fit(data, classes(2), [FittedBy(fit)])
        everything, others = learnt_from[:2]
        assert sorted(models.rows) == everything.tolist() == list(range(50))
        first = models.rows[: 50 - len(others)]
        assert set(first).isdisjoint(others)
        expected = fit_ngram_model(data[others], classes(2), (1, 1)).logits(data.documents[first])
        np.testing.assert_allclose(models.logits[NGRAMS][: len(first)], expected)

    @pytest.mark.parametrize("has_label", [True, False])
    def test_folds_without_both_values_of_a_label_are_not_scored(self, reviews, has_label):
        targets = np.stack([reviews.targets[:40] == 1, np.full(40, not has_label)], axis=1)
        targets[:4, 1] = has_label
        groups = np.append(np.zeros(4, dtype=int), np.arange(1, 37))
        data = replace(reviews[:40], targets=targets, groups=groups)
        several = AnyOfLabels(np.arange(2), np.full(2, 0.5))
        models = cross_fit(data, several, [FittedBy(lambda rows: Constant())])
        assert sorted(models.rows) == list(range(4, 40))


class TestParts:
    def test_held_out_logits_are_scaled_sums_in_document_order(self, reviews, sources):
        models = cross_fit(reviews[:60], classes(2), sources)
        assert [*models.pool.parts] == [NGRAMS, LATENT]
        held_out = np.array([41, 3, 17])
        rows, logits = scored_held_out(models, held_out)
        assert rows.tolist() == [0, 1, 2]
        for row, document in enumerate(held_out):
            place = models.rows.tolist().index(document)
            scored = [models.pool.scales[n] * models.logits[n][place] for n in (NGRAMS, LATENT)]
            np.testing.assert_allclose(logits[row], sum(scored))
