"""The n-gram model that learns in chunks, beside the one that learns from all documents at once."""

import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from sk_han import HierarchicalTokenizer
from sk_han.datasets import make_reviews
from sk_han.documents import LabelledDocuments, lazy
from sk_han.parts.ngrams import chunks as module
from sk_han.parts.ngrams import hashing
from sk_han.parts.ngrams import model as ngrams
from sk_han.parts.ngrams import stacking as parts_module
from sk_han.parts.ngrams.chunks import fit_ngram_models_in_chunks, n_chunks_of, rows_of_chunks
from sk_han.parts.ngrams.latent import fit_latent_space
from sk_han.parts.ngrams.ngram_fitting import partial_fit_ngram_model
from sk_han.parts.ngrams.stacking import (
    LinearKinds,
    fit_linear_parts,
    partial_fit_linear_parts,
)
from sk_han.parts.pool import LATENT, NGRAMS
from sk_han.targets import AnyOfLabels
from sk_han.targets.probabilities import softmax
from tests.documents_in_portions import InPortions
from tests.ngram_models import fit_ngram_model
from tests.tiny_targets import classes

N, N_CHUNKS, RANGE = 1_200, 7, (1, 2)


@pytest.fixture(scope="module")
def reviews():
    texts, labels = make_reviews(2 * N, random_state=0)
    documents = HierarchicalTokenizer().fit_transform(texts)
    return LabelledDocuments(documents, (labels == "positive").astype(int), np.ones(2 * N))


@pytest.fixture
def data(reviews):
    return reviews[:N]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch, reviews):
    """So small that the documents of `data` are seven chunks."""
    n_ngrams = 2 * reviews[:N].documents.n_words
    monkeypatch.setattr(module, "_MOST_NGRAMS", n_ngrams // 2)
    monkeypatch.setattr(module, "_MOST_NGRAMS_OF_CHUNK", -(-n_ngrams // N_CHUNKS))


def in_chunks(data, n_classes=2, parts=None):
    parts = [np.arange(len(data))] if parts is None else parts
    return fit_ngram_models_in_chunks(data, classes(n_classes), RANGE, parts)[-1]


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_a_class_that_is_one_group_is_not_scored_by_models_that_lack_it(
    data, several, at_once, monkeypatch
):
    if at_once:
        monkeypatch.setattr(module, "_MOST_NGRAMS", 2 * data.documents.n_words)
    targets, groups = data.targets.copy(), np.arange(N)
    targets[:200], groups[:200] = 2, N  # the largest group, and so in the first fold
    target = classes(3)
    if several:
        target, targets = AnyOfLabels(np.arange(3), np.full(3, 0.5)), np.eye(3)[targets] > 0
    some = replace(data, targets=targets, groups=groups)
    pool, _ = fit_linear_parts(some, target, LinearKinds(RANGE), None)
    assert 0.3 < pool.scales[NGRAMS] < 0.99  # 1 would be that of a model that is not scored


def test_a_model_in_chunks_that_lacks_a_class_is_none(data):
    alone = np.flatnonzero(data.targets == 0)
    parts = [alone, np.setdiff1d(np.arange(N), alone)]
    of_one, of_both = fit_ngram_models_in_chunks(data, classes(2), RANGE, parts)
    assert of_one is None
    assert of_both is not None


def accuracy(model, data):
    return (model.logits(data.documents).argmax(axis=1) == data.targets).mean()


def relabelled(data, targets=None, weights=None):
    return LabelledDocuments(
        data.documents,
        data.targets if targets is None else targets,
        data.weights if weights is None else weights,
    )


def assert_same_bits(one, other):
    for name in ("buckets", "ratios", "weights", "intercept"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for found, expected in zip(one.counts, other.counts, strict=True):
        np.testing.assert_array_equal(found, expected)


class TestChunks:
    def test_every_document_is_in_one(self, data):
        rows = rows_of_chunks(data.documents, RANGE)
        assert len(rows) == n_chunks_of(data.documents, RANGE) == N_CHUNKS
        assert sorted(np.concatenate(rows)) == list(range(N))

    def test_they_are_drawn_from_all_over_the_documents(self, data):
        for rows in rows_of_chunks(data.documents, RANGE):
            assert (rows < N / 2).mean() == pytest.approx(0.5, abs=0.15)

    def test_few_words_are_one_chunk(self, data, monkeypatch):
        monkeypatch.setattr(module, "_MOST_NGRAMS", 2 * data.documents.n_words)
        assert n_chunks_of(data.documents, RANGE) == 1
        assert n_chunks_of(data.documents, (1, 3)) > N_CHUNKS

    def test_there_are_no_more_than_documents(self, data):
        assert n_chunks_of(data.documents[:0], RANGE) == 1
        assert len(rows_of_chunks(data.documents[:0], RANGE)) == 1
        assert n_chunks_of(data.documents[:3], (1, 100_000)) == 3


class TestModel:
    def test_ngrams_counts_and_ratios_are_those_of_a_fit_at_once(self, data):
        weighted = relabelled(data, weights=1.0 + np.arange(N) % 7)
        model, whole = in_chunks(weighted), fit_ngram_model(weighted, classes(2), RANGE)
        np.testing.assert_array_equal(model.buckets, whole.buckets)
        np.testing.assert_array_equal(model.counts.n_seen, whole.counts.n_seen)
        for name in ("inside", "outside", "n_documents"):
            found, expected = getattr(model.counts, name), getattr(whole.counts, name)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(model.ratios, whole.ratios, atol=1e-3)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_it_predicts_as_a_fit_at_once(self, reviews, data, n_classes):
        targets = reviews.targets.copy()
        if n_classes == 3:  # neutral: words of both kinds
            targets[::3] = 2
        data, others = relabelled(reviews, targets)[:N], relabelled(reviews, targets)[N:]
        model, whole = in_chunks(data, n_classes), fit_ngram_model(data, classes(n_classes), RANGE)
        assert accuracy(model, others) > accuracy(whole, others) - 0.025
        scores = [softmax(each.logits(others.documents)) for each in (model, whole)]
        assert np.abs(scores[0] - scores[1]).mean() < 0.08

    def test_documents_sorted_by_class_do_not_harm(self, reviews, data):
        others = reviews[N:]
        model = in_chunks(data[np.argsort(data.targets, kind="stable")])
        assert accuracy(model, others) > accuracy(in_chunks(data), others) - 0.015

    def test_a_rare_class_is_recognized(self, reviews):
        # Five documents of a word of their own: fewer than there are chunks.
        targets = reviews.targets[:N].copy()
        rare = np.arange(11, N, 240)
        targets[rare] = 2
        ids = reviews.documents[:N].word_ids.copy()
        documents = reviews.documents[:N]
        new = ids.max() + 1
        first = documents.sentence_starts[documents.document_starts[:-1]]
        for place in range(4):
            ids[first[rare] + place] = new
        documents = type(documents)(ids, documents.sentence_starts, documents.document_starts)
        data = LabelledDocuments(documents, targets, np.ones(N))
        model, whole = in_chunks(data, 3), fit_ngram_model(data, classes(3), RANGE)
        scores, expected = model.logits(documents), whole.logits(documents)
        assert np.sort(scores[:, 2].argsort()[-5:]).tolist() == rare.tolist()
        assert np.sort(expected[:, 2].argsort()[-5:]).tolist() == rare.tolist()

    def test_only_ratios_of_weights_count(self, data):
        weights = 1.0 + np.arange(N) % 7
        one = in_chunks(relabelled(data, weights=weights))
        other = in_chunks(relabelled(data, weights=1024 * weights))
        assert_same_bits(one, other)

    def test_a_document_of_much_weight_counts_more(self, data):
        negative = relabelled(data, weights=np.where(data.targets == 0, 20.0, 1.0))
        difference = in_chunks(negative).logits(data.documents) - in_chunks(data).logits(
            data.documents
        )
        assert (difference[:, 0] - difference[:, 1]).mean() > 1

    def test_a_second_fit_gives_the_same_bits(self, data):
        assert_same_bits(in_chunks(data), in_chunks(data))

    def test_rare_and_frequent_ngrams_are_learnt_as_in_a_fit_at_once(self, data):
        # With a strength that grows with the documents, rare n-grams of late chunks learn little;
        # with that of the regularization, frequent ones forget the early chunks.
        model, whole = in_chunks(data), fit_ngram_model(data, classes(2), RANGE)
        frequent = model.counts.n_seen > N / 20
        for some in (frequent, ~frequent):
            found, expected = model.weights[some].ravel(), whole.weights[some].ravel()
            lengths = np.linalg.norm(found), np.linalg.norm(expected)
            assert lengths[0] == pytest.approx(lengths[1], rel=0.2)
            assert found @ expected > 0.9 * np.prod(lengths)

    def test_without_two_classes_or_ngrams_seen_twice_there_is_none(self, data):
        assert in_chunks(relabelled(data, np.zeros(N, dtype=int)), 1) is None
        assert in_chunks(data, 3) is None
        assert in_chunks(data[:1]) is None


class TestParts:
    @pytest.fixture
    def held_out(self):
        return np.arange(5, N, 10)

    @pytest.fixture
    def rest(self, held_out):
        return np.setdiff1d(np.arange(N), held_out)

    def test_the_first_model_knows_no_label_of_the_second_part(self, data, rest, held_out):
        targets = data.targets.copy()
        targets[held_out] = 1 - targets[held_out]
        parts = [rest, held_out]
        one, _ = fit_ngram_models_in_chunks(data, classes(2), RANGE, parts)
        other, _ = fit_ngram_models_in_chunks(relabelled(data, targets), classes(2), RANGE, parts)
        for name in ("ratios", "weights", "intercept"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))

    def test_the_last_model_has_counted_all_documents(self, data, rest, held_out):
        last, whole = in_chunks(data, parts=[rest, held_out]), in_chunks(data)
        np.testing.assert_array_equal(last.ratios, whole.ratios)
        np.testing.assert_array_equal(last.counts.n_documents, whole.counts.n_documents)

    def test_the_last_model_has_learnt_from_the_second_part(self, reviews, data, rest, held_out):
        first, last = fit_ngram_models_in_chunks(data, classes(2), RANGE, [rest, held_out])
        loss = [
            -np.log(softmax(model.logits(data.documents[held_out])))[
                np.arange(len(held_out)), data.targets[held_out]
            ].mean()
            for model in (first, last)
        ]
        assert loss[1] < loss[0] - 0.02
        assert accuracy(last, reviews[N:]) > accuracy(first, reviews[N:]) - 0.01

    def test_linear_parts_of_many_words_learn_in_chunks_and_once(self, data, held_out, monkeypatch):
        monkeypatch.delattr(parts_module, "fit_to_presences")  # which learns at once
        parts, scored = fit_linear_parts(data, classes(2), LinearKinds(RANGE), held_out)
        right = scored.argmax(axis=1) == data.targets[held_out]
        assert right.mean() > 0.65  # of held-out documents a fit at once tells 72 %
        scores = parts.logits(data.documents[held_out])
        assert np.abs(scored).mean() < np.abs(scores).mean()  # which has learnt from them

    def test_linear_parts_of_fewer_words_are_those_of_a_fit_at_once(self, data, monkeypatch):
        monkeypatch.setattr(module, "_MOST_NGRAMS", 2 * data.documents.n_words)
        parts, _ = fit_linear_parts(data, classes(2), LinearKinds(RANGE), None)
        assert_same_bits(parts.parts[NGRAMS], fit_ngram_model(data, classes(2), RANGE))

    def test_models_of_some_documents_are_those_of_a_fit_to_these(self, data):
        learner = parts_module.NgramLearner(parts_module.Source(data, RANGE), classes(2), None)
        rows = np.arange(0, len(data), 3)
        assert_same_bits(learner.fit(rows), fit_ngram_model(data[rows], classes(2), RANGE))

    def test_a_portion_of_many_words_is_learnt_part_by_part(self, data):
        model = None
        for rows in rows_of_chunks(data.documents, RANGE):
            model = partial_fit_ngram_model(model, data[rows], classes(2), RANGE)
        parts = partial_fit_linear_parts(None, data, classes(2), LinearKinds(RANGE))
        assert_same_bits(parts.parts[NGRAMS], model)


class TestMemory:
    @pytest.fixture(autouse=True)
    def small_portions(self, monkeypatch):
        for scoring in (ngrams, parts_module):
            monkeypatch.setattr(scoring, "WORDS_AT_ONCE", 10_000)
        monkeypatch.setattr(lazy, "_AT_ONCE", 100)

    @pytest.mark.thorough
    def test_no_more_than_a_chunk_is_read_at_once(self, data):
        space = fit_latent_space(data.documents, RANGE, np.random.RandomState(0))
        most = max(hashing.BATCH_SIZE, N // N_CHUNKS + 1)
        stored = LabelledDocuments(
            InPortions(data.documents, most=most), data.targets, data.weights
        )
        held_out = np.arange(0, N, 3)
        parts, scored = fit_linear_parts(stored, classes(2), LinearKinds(RANGE, space), held_out)
        expected, scored_in_memory = fit_linear_parts(
            data, classes(2), LinearKinds(RANGE, space), held_out
        )
        assert_same_bits(parts.parts[NGRAMS], expected.parts[NGRAMS])
        np.testing.assert_array_equal(scored, scored_in_memory)
        found = parts.logits(stored.documents)
        np.testing.assert_array_equal(found, expected.logits(data.documents))
        learnt_on = partial_fit_linear_parts(parts, stored, classes(2), LinearKinds(RANGE, space))
        assert LATENT in learnt_on.parts

    @pytest.mark.thorough
    def test_memory_does_not_grow_with_the_collection(self):
        peaks = [peak_megabytes(n_documents) for n_documents in (10_000, 40_000)]
        assert peaks[1] < peaks[0] + 100


def peak_megabytes(n_documents):
    """Give the peak memory of a process that learns n-grams of documents of 200 random words."""
    program = textwrap.dedent(f"""
        import resource
        import numpy as np
        from sk_han import DocumentArray
        from sk_han.documents import LabelledDocuments
        from sk_han.parts.ngrams import chunks
        from sk_han.parts.ngrams.stacking import LinearKinds, fit_linear_parts
        from sk_han.targets import OneOfClasses

        class Drawn(DocumentArray):
            '''Documents that are drawn when they are read.'''

            __slots__ = ("drawn", "rows")

            def __init__(self, rows):
                self.rows, self.drawn = rows, None

            def _take(self, rows):
                return Drawn(self.rows[rows])

            def _read(self):
                if self.drawn is None:
                    nested = []
                    for row in self.rows:
                        ranks = np.random.default_rng(row).random(200) * 5
                        nested.append([2 + (row % 2) + 2 * np.exp(ranks).astype(int)])
                    self.drawn = DocumentArray.from_nested(nested)
                return self.drawn

            __len__ = lambda self: len(self.rows)
            shape = property(lambda self: (len(self.rows),))
            words_per_document = property(lambda self: np.full(len(self.rows), 200))
            sentences_per_document = property(lambda self: np.ones(len(self.rows), dtype=int))
            n_words = property(lambda self: 200 * len(self.rows))
            word_ids = property(lambda self: self._read().word_ids)
            sentence_starts = property(lambda self: self._read().sentence_starts)
            document_starts = property(lambda self: self._read().document_starts)

        chunks._MOST_NGRAMS = chunks._MOST_NGRAMS_OF_CHUNK = 2_000_000
        rows = np.arange({n_documents})
        data = LabelledDocuments(Drawn(rows), rows % 2, np.ones(len(rows)))
        kinds = LinearKinds((1, 2))
        parts, scored = fit_linear_parts(data, OneOfClasses(np.arange(2)), kinds, rows[::10])
        assert (scored.argmax(axis=1) == 0).all()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    """)
    command = [sys.executable, "-c", program]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
