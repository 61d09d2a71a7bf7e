"""What a network learns from before it sees labels: halves of documents, labelled by the others."""

import numpy as np

from sk_han import DocumentArray
from sk_han._training import pretraining
from sk_han._training.pretraining import (
    halves,
    labelled_by_other_half,
    sample_to_pretrain,
)
from tests.tiny_nets import tiny_net


def share_of_twos(documents):
    """Give a teacher's probabilities: the class 1 has the share of the word 2, 0 without words."""
    document = np.repeat(np.arange(len(documents)), documents.words_per_document)
    counts = np.bincount(document, documents.word_ids == 2, len(documents))
    share = counts / np.maximum(documents.words_per_document, 1)
    return np.stack([1 - share, share], axis=1)


def test_sentences_alternate_between_the_halves(documents):
    first, second = halves(documents)
    long = [[5, 2, 2, 1, 6, 7]], [[8, 9, 10, 2, 3]]
    assert first.to_nested() == [[[2, 3]], [], long[0], [[3, 3], [2, 4, 5, 12]], [[12]]]
    assert second.to_nested() == [[[4]], [], long[1], [[1]], []]


def test_no_documents_have_no_halves():
    nothing = DocumentArray.from_nested([])
    assert [len(half) for half in halves(nothing)] == [0, 0]
    assert len(labelled_by_other_half(nothing, share_of_twos)) == 0


def test_a_half_has_the_score_of_the_other_half():
    documents = DocumentArray.from_nested([[[2, 2], [3, 4, 5, 2]]])
    data = labelled_by_other_half(documents, share_of_twos)
    assert data.inputs.to_nested() == [[[2, 2]], [[3, 4, 5, 2]]]
    assert data.targets[:, 1].tolist() == [0.25, 1]


def test_both_halves_of_a_labelled_document_get_the_label():
    documents = DocumentArray.from_nested([[[2], [3]], [[2], [4]], [[5], [6]]])
    labels = np.array([[np.nan, np.nan], [1, 0], [0, 1]], dtype=np.float32)
    data = labelled_by_other_half(documents, share_of_twos, labels=labels)
    assert data.targets[:, 1].tolist() == [0, 0, 1, 1, 0, 1]
    scores = np.full((3, 2), 0.5, dtype=np.float32)  # the same array for both halves
    data = labelled_by_other_half(documents, lambda _: scores, labels=labels)
    assert data.targets[:, 1].tolist() == [0.5, 0, 1, 0.5, 0, 1]
    assert (scores == 0.5).all()


def test_documents_without_two_halves_are_left_out(documents):
    data = labelled_by_other_half(documents, share_of_twos, weights=np.arange(1.0, 6))
    assert data.inputs.n_words == documents.n_words - 1  # all but the word alone
    assert data.weights.tolist() == [1, 3, 4, 1, 3, 4]
    assert len(data.targets) == len(data) == 6


def test_a_net_starts_from_the_pretrained_weights(documents):
    pretrained, net = tiny_net(module__n_classes=2, max_epochs=2), tiny_net(module__n_classes=2)
    data = labelled_by_other_half(documents, share_of_twos)
    pretrained.train(data, None)
    net.prepare_to_predict()
    assert not np.array_equal(net.outputs(documents), pretrained.outputs(documents))
    net.continue_from(pretrained, with_moments=False)
    net.prepare_to_predict()
    assert np.array_equal(net.outputs(documents), pretrained.outputs(documents))
    assert not net.optimizer_.state


def test_documents_are_sampled_if_there_are_too_many_words(documents, monkeypatch):
    rng = np.random.RandomState(0)
    state = rng.get_state()[1].copy()
    assert sample_to_pretrain(documents, rng).tolist() == list(range(len(documents)))
    np.testing.assert_array_equal(rng.get_state()[1], state)  # nothing was drawn
    monkeypatch.setattr(pretraining, "_MOST_WORDS", documents.n_words // 2)
    rows = sample_to_pretrain(documents, rng)
    assert rows.tolist() == sorted(rows)
    assert 0 < len(rows) < len(documents)
