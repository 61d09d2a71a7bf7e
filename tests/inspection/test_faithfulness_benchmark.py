"""What the published faithfulness figures rest on: the documents, and scores of other packages."""

from __future__ import annotations

import numpy as np
import other_explainers
import pytest
from faithfulness import agreement, documents_of, first_of
from other_explainers import OTHERS, on_words

from sk_han import explain
from tests.by_hand import explained
from tests.tiny_models import UNSEEN, fitted_classifier


@pytest.fixture(scope="module")
def classifier():
    return fitted_classifier(max_epochs=5)


class TestOnWords:
    def test_word_scores_from_pieces_worked_by_hand(self):
        # "don't go": the pieces don, t and go; the words don't and go.
        pieces = np.array([(6, 8, -1.0), (0, 3, 0.5), (4, 5, 0.25)])
        words = np.array([(0, 5), (6, 8)])
        assert on_words(pieces, words).tolist() == [0.75, -1.0]

    def test_a_piece_counts_for_each_word_that_it_overlaps(self):
        assert on_words(np.array([(0, 9, 2.0)]), np.array([(0, 4), (5, 9)])).tolist() == [2.0, 2.0]

    def test_words_without_a_piece_score_nothing(self):
        words = np.array([(0, 2), (3, 5)])
        assert on_words(np.array([(2, 3, 1.0)]), words).tolist() == [0.0, 0.0]
        assert on_words(np.zeros((0, 3)), words).tolist() == [0.0, 0.0]


class TestDocuments:
    def test_reviews_to_explain_are_not_training_reviews(self):
        documents = documents_of("make_reviews", 50)
        assert len(documents.texts) == len(documents.labels) == len(documents.rationales) == 50
        assert not set(documents.texts) & set(documents.train_texts)

    def test_rationales_stay_with_their_texts(self):
        texts, _, rationales = first_of(documents_of("make_reviews", 50), 5)
        for text, spans in zip(texts, rationales, strict=True):
            assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)


class TestAgreement:
    def test_agreement_with_rationales_worked_by_hand(self):
        # Ranks of the marked words are 1 and 3 of 4: precision 1 and 2/3, one of the first two.
        scores, spans = np.array([0.9, 0.5, 0.2, 0.1]), [(1, 3), (7, 8)]  # the words aa and cc
        found = agreement([scores] * 2, [explained("aa bb cc. dd")] * 2, [spans, []])
        np.testing.assert_allclose(found["auprc"], [(1 + 2 / 3) / 2])
        np.testing.assert_allclose(found["token_f1"], [1 / 2])


class TestOthers:
    @pytest.mark.parametrize("name", list(OTHERS))
    def test_each_word_of_each_document_has_a_score(
        self, name, classifier, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip(name)
        monkeypatch.setattr(other_explainers, "LIME_SAMPLES", 20)
        monkeypatch.setattr(other_explainers, "SHAP_EVALUATIONS", 20)
        scores = OTHERS[name](classifier, UNSEEN)
        assert [len(found) for found in scores] == [
            len(e.words) for e in explain(classifier, UNSEEN)
        ]
