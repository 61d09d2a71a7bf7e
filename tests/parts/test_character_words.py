"""What the model of characters reads of words, and when a fit tries it."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from sk_han import DocumentArray, HANClassifier, HierarchicalTokenizer
from sk_han._documents import LabelledDocuments
from sk_han._fitting.sources import _gained
from sk_han._parts.ngrams import WordTable, keyed_ngrams, words_by_id
from sk_han._targets import fit_target
from tests.inflected_texts import inflected
from tests.parts.test_characters import TINY

TEXTS = ["Übel, übelst!", "the un-likely word", "", "a 𝒳 b", "x" * 300]


class TestWordTable:
    def test_ngrams_are_those_of_scikit_learn_within_words(self):
        tokenizer = HierarchicalTokenizer()
        documents = tokenizer.fit_transform(TEXTS)
        read = WordTable.of({}, 2).read(documents)
        for number, text in enumerate(TEXTS):
            words = [
                word
                for sentence in tokenizer.inverse_transform(documents)[number]
                for word in sentence
            ]
            expected = set()
            if text:
                vectorizer = CountVectorizer(analyzer="char_wb", ngram_range=(2, 5))
                analyze = vectorizer.build_analyzer()
                expected = {ngram for word in words for ngram in analyze(word)}
                # It repeats a word shorter than n as a whole.
                expected = {ngram for ngram in expected if len(ngram) > 1}
            keys, _, _ = keyed_ngrams(read[number : number + 1], (2, 5))
            assert len(np.unique(keys)) == len(expected)

    def test_known_words_are_read_the_same_by_their_ids(self):
        tokenizer = HierarchicalTokenizer()
        documents = tokenizer.fit_transform(TEXTS)
        table = WordTable.of(words_by_id(documents), len(tokenizer.vocabulary_) + 2)
        of_ids = DocumentArray.from_nested(documents.to_nested())
        assert of_ids.spelling is None
        assert table.read(of_ids).to_nested() == table.read(documents).to_nested()

    def test_unknown_words_are_read_by_their_spelling_alone(self):
        tokenizer = HierarchicalTokenizer()
        tokenizer.fit(["good film"])
        table = WordTable.of(tokenizer.vocabulary_, 4)
        new = tokenizer.transform(["filming"])
        assert [len(word) for word in table.read(new).to_nested()[0]] == [9]
        by_ids = DocumentArray.from_nested(new.to_nested())
        assert [len(word) for word in table.read(by_ids).to_nested()[0]] == [2]  # its boundaries

    def test_words_are_read_up_to_a_limit(self):
        tokenizer = HierarchicalTokenizer()
        long = tokenizer.fit_transform(["x" * 100_000])
        table = WordTable.of(tokenizer.vocabulary_, 3)
        assert table.read(long).n_words == 1_002
        assert table.lengths.tolist() == [0, 0, 1_000]


class TestTrial:
    @pytest.mark.parametrize(
        ("gains", "pays"),
        [
            ([0.03], False),
            ([0.09], True),
            ([0.05, 0.08, 0.2], True),
            ([0.08] * 4 + [0.05], False),
            ([None, 0.2], True),  # of a fold that no model tells anything of
            ([None] * 5, False),
        ],
    )
    def test_the_trial_reads_folds_until_it_is_a_standard_error_away(
        self, monkeypatch, gains, pays
    ):
        sizes, left = [], iter(gains)

        def gained(data, known, target):
            sizes.append(len(data))
            assert known.shape == (2, len(data), 2)
            gain = next(left)
            return (0.0, np.inf) if gain is None else (gain, 0.025)

        monkeypatch.setattr("sk_han._fitting.sources._gained", gained)
        fitted = HANClassifier(**TINY).fit(*inflected(400))
        assert (fitted.character_model_ is not None) == pays
        assert sizes == [80 * fold for fold in range(1, len(gains) + 1)]

    @pytest.mark.parametrize("several", [False, True])
    def test_of_many_labels_the_trial_learns_the_most_frequent_ones(self, monkeypatch, several):
        seen = []

        def gained(data, known, target):
            seen.append((len(data), target.names.tolist(), known.shape[2]))
            return 0.0, 0.0

        monkeypatch.setattr("sk_han._fitting.sources._gained", gained)
        y = np.append(np.repeat(np.arange(31), 12), np.repeat(np.arange(31, 38), 4))
        if several:
            y = np.eye(38, dtype=int)[y]
            y[0, 1] = 1  # one label of each document would be classes
        HANClassifier(**TINY).fit(inflected(400)[0], y)
        ((n_documents, names, n_scores),) = seen
        assert names == list(range(31))
        assert n_scores == 31
        assert n_documents == pytest.approx(80 if several else 372 / 5, abs=3)  # of a fold

    @pytest.mark.parametrize("more", [0, 1])
    def test_more_characters_than_memory_is_for_are_not_read(self, monkeypatch, more):
        texts, labels = inflected(400)
        documents = HierarchicalTokenizer().fit_transform(texts)
        most = sum(len("".join(text.split())) for text in texts) - more
        monkeypatch.setattr("sk_han._fitting.sources._MOST_CHARACTERS", most)
        fitted = HANClassifier(**TINY).fit(documents, labels)
        assert ("characters" in fitted.pool_.parts) == (more == 0)

    @pytest.mark.parametrize(
        ("words", "characters", "share"),
        [
            ([0, 0, 0, 0], [0, 0, 0, 0], 0.0),
            ([0, 0, 0, 0], [-1, 1, -1, 1], 1.0),  # words tell nothing
            ([-1, 1, -1, 1], [-1, 1, -1, 1], 0.0),  # characters tell the same
            # Each tells two documents for certain, both together all four.
            ([-99, 99, 0, 0], [0, 0, -99, 99], 0.5),
        ],
    )
    def test_what_characters_add_is_a_share_of_what_both_tell(self, words, characters, share):
        n = 4_000  # of fewer, scales of 1 would be preferred
        targets = np.tile([0, 1, 0, 1], n // 4)
        data = LabelledDocuments(DocumentArray.from_nested([[[2]]] * n), targets, np.ones(n))
        target, _ = fit_target(targets, n)
        logits = np.tile(np.array([words, characters], dtype=float), n // 4)
        known = np.stack([-logits, logits], axis=2)  # (2, D, 2)
        assert _gained(data, known, target)[0] == pytest.approx(share, abs=1e-3)

    def test_of_documents_of_which_nothing_is_told_the_error_is_infinite(self):
        targets = np.tile([0, 1], 200)
        data = LabelledDocuments(DocumentArray.from_nested([[[2]]] * 400), targets, np.ones(400))
        wrong = np.tile([1.0, -1.0], (2, 200))
        known = np.stack([-wrong, wrong], axis=2)
        assert _gained(data, known, fit_target(targets, 400)[0]) == (0.0, np.inf)

    def test_the_error_of_what_characters_add_is_that_of_other_documents(self):
        rng, n = np.random.RandomState(0), 500
        found = []
        for _ in range(40):
            targets = rng.randint(2, size=n)
            of_both = (2 * targets - 1 + rng.normal(size=(2, n)) * [[2], [4]]) / [[2], [8]]
            known = np.stack([-of_both, of_both], axis=2)
            data = LabelledDocuments(DocumentArray.from_nested([[[2]]] * n), targets, np.ones(n))
            found.append(_gained(data, known, fit_target(targets, n)[0]))
        gained, errors = np.transpose(found)
        assert errors.mean() == pytest.approx(gained.std(), rel=0.3)
