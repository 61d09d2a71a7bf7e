"""What the model of characters reads of words, and when a fit tries it."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from sk_han import DocumentArray, HANClassifier, HierarchicalTokenizer
from sk_han._documents import LabelledDocuments
from sk_han._fitting.sources import _relative_gain
from sk_han._parts.ngrams import WordTable, keyed_ngrams, words_by_id
from sk_han._targets import fit_target
from tests.inflected_texts import inflected
from tests.parts.test_characters import TINY

TEXTS = ["Übel, übelst!", "the un-likely word", "", "a 𝒳 b", "x" * 300]


class TestWordTable:
    def test_character_ngrams_match_char_wb_of_scikit_learn(self):
        tokenizer = HierarchicalTokenizer()
        documents = tokenizer.fit_transform(TEXTS)
        vectorizer = CountVectorizer(analyzer="char_wb", ngram_range=(2, 5))
        ngrams_of, read = (
            vectorizer.build_analyzer(),
            WordTable.from_vocabulary({}, 2).spell(documents),
        )
        for number, sentences in enumerate(tokenizer.inverse_transform(documents)):
            expected = {ngram for words in sentences for word in words for ngram in ngrams_of(word)}
            keys, _, _ = keyed_ngrams(read[number : number + 1], (2, 5))
            # Scikit-learn repeats a word shorter than n as a whole.
            assert len(np.unique(keys)) == len({ngram for ngram in expected if len(ngram) > 1})

    def test_known_words_need_no_spelling(self):
        tokenizer = HierarchicalTokenizer()
        documents = tokenizer.fit_transform(TEXTS)
        table = WordTable.from_vocabulary(words_by_id(documents), len(tokenizer.vocabulary_) + 2)
        of_ids = DocumentArray.from_nested(documents.to_nested())
        assert of_ids.spelling is None
        assert table.spell(of_ids).to_nested() == table.spell(documents).to_nested()
        new = tokenizer.transform(["filming"])
        assert [len(word) for word in table.spell(new).to_nested()[0]] == [9]
        of_ids = DocumentArray.from_nested(new.to_nested())
        assert [len(word) for word in table.spell(of_ids).to_nested()[0]] == [2]  # its boundaries

    def test_words_are_read_up_to_a_limit(self):
        tokenizer = HierarchicalTokenizer()
        long = tokenizer.fit_transform(["x" * 100_000])
        table = WordTable.from_vocabulary(tokenizer.vocabulary_, 3)
        assert table.spell(long).n_words == 1_002
        assert table.lengths.tolist() == [0, 0, 1_000]


def gained_by(logits, targets):
    """What characters gain, and its error, where both models have these log-odds / 2, (2, D)."""
    n = len(targets)
    data = LabelledDocuments(DocumentArray.from_nested([[[2]]] * n), targets, np.ones(n))
    return _relative_gain(data, np.stack([-logits, logits], axis=2), fit_target(targets, n)[0])


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
    def test_the_trial_stops_when_the_difference_is_significant(self, monkeypatch, gains, pays):
        sizes, left = [], iter(gains)

        def gained(data, known, target):
            sizes.append(len(data))
            assert known.shape == (2, len(data), 2)
            gain = next(left)
            return (0.0, np.inf) if gain is None else (gain, 0.025)

        monkeypatch.setattr("sk_han._fitting.sources._relative_gain", gained)
        fitted = HANClassifier(**TINY).fit(*inflected(400))
        assert (fitted.character_model_ is not None) == pays
        assert sizes == [80 * fold for fold in range(1, len(gains) + 1)]

    @pytest.mark.parametrize("several", [False, True])
    def test_the_trial_learns_only_the_most_frequent_of_many_labels(self, monkeypatch, several):
        seen = []

        def gained(data, known, target):
            seen.append((len(data), target.names.tolist(), known.shape[2]))
            return 0.0, 0.0

        monkeypatch.setattr("sk_han._fitting.sources._relative_gain", gained)
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
    def test_collections_with_too_many_characters_skip_the_trial(self, monkeypatch, more):
        texts, labels = inflected(400)
        documents = HierarchicalTokenizer().fit_transform(texts)
        most = sum(len("".join(text.split())) for text in texts) - more
        monkeypatch.setattr("sk_han._fitting.sources._MOST_CHARACTERS", most)
        fitted = HANClassifier(**TINY).fit(documents, labels)
        assert ("characters" in fitted.pool_.parts) == (more == 0)

    @pytest.mark.parametrize(
        ("words", "characters", "share", "error"),
        [
            ([0, 0, 0, 0], [0, 0, 0, 0], 0.0, np.inf),
            ([1, -1, 1, -1], [1, -1, 1, -1], 0.0, np.inf),  # wrong ones tell nothing either
            ([0, 0, 0, 0], [-1, 1, -1, 1], 1.0, 0.0),  # words tell nothing
            ([1, -1, 1, -1], [-99, 99, -99, 99], 1.0, 0.0),  # less than nothing
            ([-1, 1, -1, 1], [-1, 1, -1, 1], 0.0, 0.0),  # characters tell the same
            # Each tells two documents for certain, both together all four.
            ([-99, 99, 0, 0], [0, 0, -99, 99], 0.5, 0.5 * 4_000**-0.5),
        ],
    )
    def test_the_gain_of_characters_is_relative(self, words, characters, share, error):
        logits = np.tile(np.array([words, characters], dtype=float), 1_000)  # of fewer, 1 is near
        found = gained_by(logits, np.tile([0, 1, 0, 1], 1_000))
        assert found == pytest.approx((share, error), abs=1e-3)
