"""Linear models together: what each of them counts, by documents that it does not know."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sk_han import HierarchicalTokenizer
from sk_han._documents import LabelledDocuments
from sk_han._fitting import linear
from sk_han._fitting.linear import cross_fit, with_earlier_latent_models
from sk_han._fitting.sources import TextSource
from sk_han._parts import Part, Pool
from sk_han._parts.latent import fit_latent_space
from sk_han._parts.pool import LATENT, NGRAMS
from sk_han._targets import AnyOfLabels
from sk_han._targets.splits import folds_of
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
    def test_the_only_document_of_a_class_is_in_none(self):
        folds = list(folds_of(np.array([0, 1, 0, 2, 0, 1, 3])))
        assert sorted(np.concatenate(folds)) == [0, 1, 2, 4, 5]

    def test_classes_are_dealt_out(self):
        targets = np.repeat([0, 1, 2], [10, 25, 5])
        for fold in folds_of(targets):
            assert np.bincount(targets[fold]).tolist() == [2, 5, 1]

    def test_a_document_is_scored_by_models_of_the_others(self, reviews):
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

    def test_folds_without_a_model_are_left_out(self, reviews):
        def fit(rows):
            return Constant() if len(rows) == 20 else None

        models = cross_fit(reviews[:20], classes(2), [FittedBy(fit)])
        assert models.pool.scales == {NGRAMS: 1.0}  # which is usual
        assert len(models.rows) == len(models.logits[NGRAMS]) == 0

    @pytest.mark.parametrize("has_label", [True, False])
    def test_a_side_of_a_label_that_is_in_one_fold_alone_is_not_scored(self, reviews, has_label):
        targets = np.stack([reviews.targets[:40] == 1, np.full(40, not has_label)], axis=1)
        targets[:4, 1] = has_label
        groups = np.append(np.zeros(4, dtype=int), np.arange(1, 37))
        data = replace(reviews[:40], targets=targets, groups=groups)
        several = AnyOfLabels(np.arange(2), np.full(2, 0.5))
        models = cross_fit(data, several, [FittedBy(lambda rows: Constant())])
        assert sorted(models.rows) == list(range(4, 40))


class TestParts:
    def test_logits_of_held_out_documents_are_the_scaled_sum_in_their_order(self, reviews, sources):
        models = cross_fit(reviews[:60], classes(2), sources)
        assert [*models.pool.parts] == [NGRAMS, LATENT]
        held_out = np.array([41, 3, 17])
        rows, logits = scored_held_out(models, held_out)
        assert rows.tolist() == [0, 1, 2]
        for row, document in enumerate(held_out):
            place = models.rows.tolist().index(document)
            scored = [models.pool.scales[n] * models.logits[n][place] for n in (NGRAMS, LATENT)]
            np.testing.assert_allclose(logits[row], sum(scored))

    def test_a_latent_model_that_knows_nothing_counts_little(self, reviews, sources):
        targets = np.random.RandomState(0).randint(2, size=400)
        data = replace(reviews[:400], targets=targets)
        assert cross_fit(data, classes(2), sources).pool.scales[LATENT] < 0.2

    def test_of_many_documents_only_those_held_out_are_scored(self, reviews, monkeypatch):
        monkeypatch.setattr(linear, "MOST_CROSS_FITTED", 100)
        held_out = np.arange(7, 300, 11)
        models = cross_fit(reviews[:300], classes(2), [TextSource((1, 2))], held_out)
        assert sorted(models.rows) == held_out.tolist()
        rows, logits = scored_held_out(models, held_out)
        assert rows.tolist() == list(range(len(held_out)))
        assert np.isfinite(logits).all()

    def test_rare_classes_do_not_switch_cross_fitting_off(self, reviews):
        targets = np.append(reviews.targets[:90], [2, 3, 4])
        data = LabelledDocuments(reviews.documents[:93], targets, np.ones(93))
        models = cross_fit(data, classes(5), [TextSource((1, 1))])
        assert scored_held_out(models, np.arange(93)).rows.tolist() == list(range(90))

    def test_an_ngram_model_beside_the_latent_model_of_others(self, reviews, sources):
        parts = cross_fit(reviews[:60], classes(2), sources).pool
        ngrams, latent = parts.only([NGRAMS]), parts.only([LATENT])
        both = with_earlier_latent_models(ngrams.scaled(3.0), parts)
        assert (both.parts, both.scales) == (parts.parts, parts.scales)
        alone = with_earlier_latent_models(Pool(parts.target, {}, {}), parts)
        assert (alone.parts, alone.scales) == (latent.parts, latent.scales)
        begun = with_earlier_latent_models(ngrams, latent)
        assert [*begun.parts] == [NGRAMS, LATENT]
        assert begun.scales == {**ngrams.scales, **latent.scales}

    def test_a_single_class_has_no_models(self, reviews):
        one = LabelledDocuments(reviews.documents[:9], np.zeros(9, dtype=int), np.ones(9))
        models = cross_fit(one, classes(1), [TextSource((1, 1))], np.arange(9))
        assert not models.pool.parts
        assert len(models.rows) == 0

    def test_views_are_what_the_scales_are_for(self, reviews):
        # Of a tenth of the words a model is less sure, and right less often.
        whole, half = (
            cross_fit(reviews[:300], classes(2), [TextSource((1, 2))], views=views).pool
            for views in (None, lambda documents: (documents, documents))
        )
        assert half.scales[NGRAMS] == pytest.approx(whole.scales[NGRAMS], rel=0.02)
