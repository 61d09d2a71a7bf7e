"""Text without labels, where documents are vectors of sentences."""

from sk_han import SentenceEmbedder
from tests.encoders_of_sentences import HashEncoder
from tests.sentence_vectors.test_classifier import LABELS, TEXTS, opinions, quick


def test_text_without_labels_teaches_the_network_of_words(monkeypatch):
    monkeypatch.setattr("sk_han._fitting.linear._ENOUGH_TO_PRETRAIN", 50)
    embedder = SentenceEmbedder(HashEncoder(size=64)).fit(TEXTS)
    unlabelled = embedder.tokenizer_.transform(opinions(60, 2)[0])
    taught = quick().fit(embedder.transform(TEXTS), LABELS, X_unlabelled=unlabelled)
    assert taught.fit_summary_.seconds["pre-training"] > 0
    assert list(taught.pool_.parts) == ["network", "words", "ngrams", "latent"]
