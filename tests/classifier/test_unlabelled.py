"""Text without labels: what a fit learns from it, in every form it may have."""

import joblib
import numpy as np
import polars as pl
import pytest
import sklearn
import torch
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

import sk_han
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


@pytest.fixture
def pretrains(monkeypatch):
    """Take a few hundred texts for enough to pre-train the network."""
    monkeypatch.setattr("sk_han._fitting.linear._ENOUGH_TO_PRETRAIN", 100)
    monkeypatch.setattr("sk_han._fitting.network.PRETRAINING_STEPS", 20)


def same(one, other):
    np.testing.assert_array_equal(one.predict_proba(UNSEEN), other.predict_proba(UNSEEN))


class TestWhatIsLearnt:
    def test_the_vocabulary_has_the_words_of_all_texts(self, fitted):
        every = HierarchicalTokenizer().fit([*LABELLED, *UNLABELLED])
        assert fitted.tokenizer_.vocabulary_ == every.vocabulary_
        assert fitted.vocabulary_size_ == len(every.vocabulary_) + 2

    def test_the_word_vectors_are_those_of_all_texts(self, fitted):
        alone = small(freeze_embedding=True).fit(LABELLED, Y)
        given = small(freeze_embedding=True).fit(LABELLED, Y, X_unlabelled=UNLABELLED)
        rows = [c.tokenizer_.vocabulary_["the"] for c in (alone, given)]
        one, other = (
            c.net_.module_.embedding.weight[row].numpy(force=True)
            for c, row in zip((alone, given), rows, strict=True)
        )
        assert not np.allclose(one, other)

    def test_a_latent_model_counts(self, fitted):
        assert fitted.latent_model_ is not None
        assert fitted.latent_scale_ > 0

    def test_without_ngrams_there_is_no_latent_model(self):
        classifier = small(linear_ngrams=None).fit(LABELLED, Y, X_unlabelled=UNLABELLED)
        assert classifier.latent_model_ is None
        assert classifier.ngram_model_ is None

    def test_too_little_text_has_no_latent_model(self):
        classifier = small().fit(LABELLED[:4], Y[:4], X_unlabelled=["A word.", "Two words."])
        assert classifier.latent_model_ is None
        assert classifier.ngram_model_ is not None

    def test_a_single_class_has_no_latent_model(self):
        with pytest.warns(UserWarning, match="single class"):
            classifier = small().fit(LABELLED, ["one"] * 60, X_unlabelled=UNLABELLED)
        assert classifier.latent_model_ is None

    def test_only_documents_with_labels_are_held_out(self, fitted):
        held_out = fitted.net_.train_split.keywords["valid_ds"].X
        assert len(held_out) == 6

    def test_documents_of_weight_zero_are_no_text_without_labels(self):
        weights = np.ones(60)
        weights[:10] = 0
        one = small().fit(LABELLED, Y, sample_weight=weights, X_unlabelled=UNLABELLED)
        other_labels = np.where(np.arange(60) < 10, Y[::-1], Y)
        other = small().fit(LABELLED, other_labels, sample_weight=weights, X_unlabelled=UNLABELLED)
        same(one, other)


class Once:
    """Texts that can be read once."""

    def __init__(self, texts):
        self.rows = iter(texts)

    def __iter__(self):
        return self.rows


class TestForms:
    @pytest.mark.parametrize("form", [iter, Once, lambda texts: np.array(texts, dtype=object)])
    def test_any_form_is_as_good_as_a_list(self, fitted, monkeypatch, form):
        monkeypatch.setattr("sk_han._validation.documents._PORTION_SIZE", 100)
        same(small().fit(LABELLED, Y, X_unlabelled=form(UNLABELLED)), fitted)

    def test_documents_of_word_ids_give_the_same(self, fitted):
        documents = fitted.tokenizer_.transform([*LABELLED, *UNLABELLED, *UNSEEN])
        given = small().fit(documents[:60], Y, X_unlabelled=documents[60:600])
        np.testing.assert_array_equal(
            given.predict_proba(documents[600:]), fitted.predict_proba(UNSEEN)
        )

    def test_documents_may_be_on_disk(self, fitted, tmp_path):
        documents = fitted.tokenizer_.transform([*LABELLED, *UNLABELLED, *UNSEEN])
        mapped = []
        for name in ("word_ids", "sentence_starts", "document_starts"):
            np.save(tmp_path / f"{name}.npy", getattr(documents[60:600], name))
            mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
        given = small().fit(documents[:60], Y, X_unlabelled=DocumentArray(*mapped))
        np.testing.assert_array_equal(
            given.predict_proba(documents[600:]), fitted.predict_proba(UNSEEN)
        )

    def test_a_padded_tokenizer_reads_them_ragged(self, fitted):
        tokenizer = HierarchicalTokenizer(output="padded")
        same(small(tokenizer=tokenizer).fit(LABELLED, Y, X_unlabelled=UNLABELLED), fitted)

    @pytest.mark.filterwarnings("ignore:The network is useless")
    def test_a_text_without_label_weighs_as_much_as_one_with_a_label(self, fitted):
        # Also where one of these weighs a thousand times as much as the others.
        weights = np.ones(60)
        weights[0] = 1000
        given = []

        def recorded(init, documents, weights, *rest):
            given.append(weights)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("sk_han._fitting.network.initial_vectors", recorded)
            small().fit(LABELLED, Y, sample_weight=weights, X_unlabelled=UNLABELLED)
        assert given[0][60:] == pytest.approx(given[0][:60].mean())

    def test_a_tokenizer_with_a_vocabulary_keeps_it(self):
        tokenizer = HierarchicalTokenizer(vocabulary=["the", "food", "good"])
        classifier = small(tokenizer=tokenizer).fit(LABELLED, Y, X_unlabelled=iter(UNLABELLED))
        assert classifier.tokenizer_.vocabulary_ == {"the": 2, "food": 3, "good": 4}

    def test_a_pipeline_routes_them_to_both_of_its_steps(self, fitted):
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

    @pytest.mark.thorough
    def test_a_search_takes_them(self):
        search = GridSearchCV(small(), {"dropout": [0.1]}, cv=2, error_score="raise")
        search.fit(LABELLED, Y, X_unlabelled=UNLABELLED)
        assert search.best_estimator_.latent_model_ is not None


class TestErrors:
    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            ("one text", ValueError, "string object received"),
            ([], ValueError, "X_unlabelled has no documents; leave it out if there are none\\.$"),
            (iter([]), ValueError, "X_unlabelled has no documents; .* a search needs a list"),
            (["a text", None], TypeError, "Document 1 of X_unlabelled is missing"),
            ([["a", "list"]], TypeError, "Document 0 of X_unlabelled is a list"),
            ({"a": "text"}, TypeError, r"need an order.* list\(X_unlabelled\.values\(\)\)"),
            ({"a text"}, TypeError, r"need an order.* list\(X_unlabelled\)"),
            (sparse.eye(3).tocsr(), TypeError, "X_unlabelled: .* csr_matrix, which holds numbers"),
            (np.array("text"), ValueError, r"X_unlabelled: One text a document .* shape \(\)"),
            (5, TypeError, "X_unlabelled: .* got 5 of type int. Pass a list of strings"),
            (pl.Series(["a text", None]), TypeError, "Document 1 of X_unlabelled is missing"),
            (pl.Series([1, 2]), TypeError, "Document 0 of X_unlabelled is an int, not a string"),
            (DocumentArray.from_nested([[[2]]]), TypeError, "of word ids, but X holds texts"),
        ],
        ids=[
            "string",
            "empty",
            "read iterator",
            "missing",
            "list",
            "dict",
            "set",
            "sparse matrix",
            "array of no dimension",
            "number",
            "missing of polars",
            "numbers of polars",
            "word ids",
        ],
    )
    def test_what_is_no_text_is_named(self, given, error, message):
        classifier = small()
        with pytest.raises(error, match=message):
            classifier.fit(LABELLED, Y, X_unlabelled=given)
        assert not hasattr(classifier, "net_")

    def test_the_number_of_a_missing_text_counts_all_chunks(self, monkeypatch):
        monkeypatch.setattr("sk_han._validation.documents._PORTION_SIZE", 3)
        with pytest.raises(TypeError, match="Document 7 of X_unlabelled is missing"):
            small().fit(LABELLED, Y, X_unlabelled=iter([*UNLABELLED[:7], None]))

    def test_texts_beside_word_ids_are_refused_with_the_repair(self):
        documents = HierarchicalTokenizer().fit_transform(LABELLED)
        with pytest.raises(TypeError, match=r"X_unlabelled is a list.*transform_input"):
            small().fit(documents, Y, X_unlabelled=UNLABELLED)

    def test_a_later_portion_has_none(self):
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

    def test_a_first_portion_of_one_class_has_no_latent_model(self):
        rows = np.flatnonzero(Y == "pos")
        classifier = small().partial_fit(
            [LABELLED[i] for i in rows], Y[rows], classes=["neg", "pos"], X_unlabelled=UNLABELLED
        )
        assert classifier.latent_model_ is None

    def test_a_fit_that_goes_on_keeps_the_latent_model_or_learns_another(self):
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

    def test_other_text_makes_other_scales(self, monkeypatch):
        # Documents with labels alone show no directions.
        monkeypatch.setattr("sk_han._parts.latent._MIN_DOCUMENTS", 20)
        classifier = small(warm_start=True).fit(LABELLED, Y, X_unlabelled=UNLABELLED)
        scale = classifier.latent_scale_
        rng = np.random.RandomState(0)
        classifier.fit(
            LABELLED, Y, X_unlabelled=[" ".join(rng.choice(COMMON, 12)) for _ in range(540)]
        )
        assert classifier.latent_scale_ < scale / 2

    @pytest.mark.thorough
    def test_scales_stay_in_place_when_fits_with_validation_texts_go_on(self):
        given = {"X_val": UNSEEN[:20], "y_val": LABELS[600:620]}
        classifier = small(warm_start=True).fit(LABELLED, Y, X_unlabelled=UNLABELLED, **given)
        scale = classifier.latent_scale_
        for _ in range(4):
            classifier.fit(LABELLED, Y, **given)
        assert classifier.latent_scale_ == pytest.approx(scale, rel=0.4)

    def test_a_fit_that_goes_on_without_ngrams_in_common_keeps_the_latent_model(self):
        classifier = small(warm_start=True).fit(LABELLED, Y, X_unlabelled=UNLABELLED)
        words = list(classifier.tokenizer_.vocabulary_)[:60]
        model = classifier.latent_model_
        classifier.fit(words, Y)
        assert classifier.ngram_model_ is None
        assert classifier.latent_model_ is model

    def test_a_new_fit_forgets_it(self, fitted):
        classifier = small().fit(LABELLED, Y, X_unlabelled=UNLABELLED).fit(LABELLED, Y)
        assert classifier.latent_model_ is None

    def test_it_is_saved(self, fitted, tmp_path):
        sk_han.save(fitted, tmp_path / "model.han")
        joblib.dump(fitted, tmp_path / "model.joblib")
        for loaded in (
            sk_han.load(tmp_path / "model.han"),
            joblib.load(tmp_path / "model.joblib"),
        ):
            same(loaded, fitted)
            assert loaded.latent_scale_ == fitted.latent_scale_


class TestPretraining:
    def test_a_network_starts_from_what_halves_of_documents_taught(self, fitted, pretrains):
        with_halves, again = (small().fit(LABELLED, Y, X_unlabelled=UNLABELLED) for _ in range(2))
        same(with_halves, again)
        assert not np.array_equal(with_halves.predict_proba(UNSEEN), fitted.predict_proba(UNSEEN))
        assert with_halves.n_iter_ == fitted.n_iter_

    @pytest.mark.thorough
    def test_texts_without_two_halves_do_not_count(self, pretrains):
        texts = [*UNLABELLED[:90], *500 * ["word"], *500 * [""]]
        classifier = small(max_epochs="auto").fit(LABELLED, Y, X_unlabelled=texts)
        whole = small(max_epochs="auto").fit(LABELLED, Y)
        assert classifier.n_iter_ == whole.n_iter_  # half of them after pre-training

    def test_a_loss_that_may_take_no_probabilities_is_not_pretrained_with(self, pretrains):
        net_params = {"criterion": torch.nn.MultiMarginLoss}
        small(net_params=net_params).fit(LABELLED, Y, X_unlabelled=UNLABELLED)
