"""Text without labels: what a fit learns from it, in every form it may have."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.pipeline import Pipeline

from sk_han import Attention, DocumentArray, HANClassifier, HierarchicalTokenizer

TOPICS = [[f"{letter}{number}" for number in range(60)] for letter in "pn"]
COMMON = ["the", "and", "was", "food", "good"]


def topical_texts(n):
    """Make texts of two topics: six labels show few of their words, and other texts the rest."""
    rng = np.random.RandomState(0)
    labels, texts = np.array(["neg", "pos"] * (n // 2)), []
    for label in labels:
        sentences = []
        for _ in range(3):
            topic = TOPICS[(label == "neg") != (rng.uniform() < 0.2)]
            sentences.append(" ".join([*rng.choice(topic, 4), *rng.choice(COMMON, 2)]))
        texts.append(". ".join(sentences) + ".")
    return texts, labels


TEXTS, LABELS = topical_texts(700)
LABELLED, Y = TEXTS[:60], LABELS[:60]
UNLABELLED, UNSEEN = TEXTS[60:600], TEXTS[600:]


def small(**params):
    sizes = {"embedding_dim": 8, "word_hidden": 4, "sentence_hidden": 3, "max_epochs": 1}
    sizes |= {"batch_size": 32}
    return HANClassifier(
        **{**sizes, "pooling": Attention(size=4), "random_state": 0, "device": "cpu", **params}
    )


@pytest.fixture(scope="module")
def fitted():
    return small().fit(LABELLED, Y, X_unlabelled=UNLABELLED)


def same(one, other):
    np.testing.assert_array_equal(one.predict_proba(UNSEEN), other.predict_proba(UNSEEN))


class TestWhatIsLearnt:
    def test_a_latent_model_needs_ngrams_and_enough_text(self):
        classifier = small(linear_ngrams=None).fit(LABELLED, Y, X_unlabelled=UNLABELLED)
        assert (classifier.latent_model_, classifier.ngram_model_) == (None, None)
        classifier = small().fit(LABELLED[:4], Y[:4], X_unlabelled=["A word.", "Two words."])
        assert classifier.latent_model_ is None
        assert classifier.ngram_model_ is not None

    def test_only_documents_with_labels_are_held_out(self, fitted):
        held_out = fitted.net_.train_split.keywords["valid_ds"].X
        assert len(held_out) == 6

    def test_documents_of_weight_zero_do_not_become_unlabelled_text(self):
        weights = np.ones(60)
        weights[:10] = 0
        one = small().fit(LABELLED, Y, sample_weight=weights, X_unlabelled=UNLABELLED)
        other_labels = np.where(np.arange(60) < 10, Y[::-1], Y)
        other = small().fit(LABELLED, other_labels, sample_weight=weights, X_unlabelled=UNLABELLED)
        same(one, other)


class TestForms:
    def test_unlabelled_documents_of_word_ids_give_the_same_model(self, fitted):
        documents = fitted.tokenizer_.transform([*LABELLED, *UNLABELLED, *UNSEEN])
        given = small().fit(documents[:60], Y, X_unlabelled=documents[60:600])
        np.testing.assert_array_equal(
            given.predict_proba(documents[600:]), fitted.predict_proba(UNSEEN)
        )

    def test_a_given_vocabulary_is_kept(self):
        tokenizer = HierarchicalTokenizer(vocabulary=["the", "food", "good"])
        classifier = small(tokenizer=tokenizer).fit(LABELLED, Y, X_unlabelled=iter(UNLABELLED))
        assert classifier.tokenizer_.vocabulary_ == {"the": 2, "food": 3, "good": 4}

    def test_a_pipeline_routes_unlabelled_texts_to_both_steps(self, fitted):
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline = Pipeline(
                [
                    ("tokenizer", HierarchicalTokenizer().set_fit_request(X_unlabelled=True)),
                    ("han", small().set_fit_request(X_unlabelled=True)),
                ],
                transform_input=["X_unlabelled"],
            )
            pipeline.fit(LABELLED, Y, X_unlabelled=UNLABELLED)
        assert pipeline[-1].latent_model_ is not None
        same(pipeline, fitted)


class TestErrors:
    @pytest.mark.parametrize(
        ("texts", "error", "message"),
        [
            ("one text", ValueError, "string object received"),
            ([], ValueError, "X_unlabelled has no documents; leave it out if there are none\\.$"),
            (iter([]), ValueError, "X_unlabelled has no documents; .* a search needs a list"),
            (["a text", None], TypeError, "Document 1 of X_unlabelled is missing"),
            (iter([*10_001 * ["a"], None]), TypeError, "Document 10001 of X_unlabelled is missing"),
            ({"a text"}, TypeError, r"need an order.* list\(X_unlabelled\)"),
            (sparse.eye(3).tocsr(), TypeError, "X_unlabelled: .* csr_matrix, which holds numbers"),
            (DocumentArray.from_nested([[[2]]]), TypeError, "of word ids, but X holds texts"),
        ],
        ids=["string", "empty", "read", "missing", "second portion", "set", "sparse", "word ids"],
    )
    def test_unlabelled_values_other_than_texts_are_refused(self, texts, error, message):
        classifier = small()
        with pytest.raises(error, match=message):
            classifier.fit(LABELLED, Y, X_unlabelled=texts)
        assert not hasattr(classifier, "net_")

    def test_unlabelled_texts_with_labelled_word_ids_are_refused(self):
        documents = HierarchicalTokenizer().fit_transform(LABELLED)
        with pytest.raises(TypeError, match=r"X_unlabelled is a list.*transform_input"):
            small().fit(documents, Y, X_unlabelled=UNLABELLED)

    def test_a_later_portion_refuses_unlabelled_texts(self):
        classifier = small().partial_fit(LABELLED, Y, classes=["neg", "pos"])
        with pytest.raises(ValueError, match="X_unlabelled is for the first call"):
            classifier.partial_fit(LABELLED, Y, X_unlabelled=UNLABELLED)


class TestLater:
    def test_portions_update_the_latent_model(self):
        classifier = small().partial_fit(
            LABELLED[:30], Y[:30], classes=["neg", "pos"], X_unlabelled=UNLABELLED
        )
        before, scale = classifier.latent_model_, classifier.latent_scale_
        assert before is not None
        classifier.partial_fit(LABELLED[30:], Y[30:])
        assert not np.array_equal(classifier.latent_model_.weights, before.weights)
        assert classifier.latent_scale_ == scale > 0

    def test_a_warm_start_relearns_the_latent_model_only_from_text(self):
        classifier = small(warm_start=True).fit(LABELLED, Y, X_unlabelled=UNLABELLED)
        model = classifier.latent_model_
        scales = classifier.network_scale_, classifier.ngram_scale_, classifier.latent_scale_
        classifier.fit(LABELLED, Y)
        assert classifier.latent_model_ is model
        vocabulary = classifier.tokenizer_.vocabulary_
        found = classifier.network_scale_, classifier.ngram_scale_, classifier.latent_scale_
        assert found == scales
        classifier.fit(LABELLED, Y, X_unlabelled=UNLABELLED[:300])
        assert classifier.latent_model_ is not model
        assert classifier.tokenizer_.vocabulary_ is vocabulary
