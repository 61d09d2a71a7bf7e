import enum
import io
import linecache
import subprocess
import sys
from copy import copy
from dataclasses import replace
from functools import partial

import joblib
import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from skorch.callbacks import Callback, EpochScoring

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han._documents import LabelledDocuments
from tests import tiny_models
from tests.gpu import needs_gpu
from tests.tiny_models import BAD, GOOD, with_model

TEXTS = 8 * (GOOD + BAD)
LABELS = np.array(8 * (3 * ["pos"] + 3 * ["neg"]))

tiny = partial(tiny_models.tiny, max_epochs=2, batch_size=16)


def two_steps(**params):
    return make_pipeline(HierarchicalTokenizer(), tiny(**params))


@pytest.fixture(scope="module")
def fitted():
    return tiny().fit(TEXTS, LABELS)


class TestFitAndPredict:
    def test_a_cue_word_is_learnt(self):
        classifier = tiny(max_epochs=30, lr=0.02, validation_fraction=None).fit(TEXTS, LABELS)
        assert classifier.score(TEXTS, LABELS) == 1.0

    def test_members_of_an_enumeration_are_scored_as_they_are_learnt(self, fitted):
        class Opinion(str, enum.Enum):
            POS, NEG = "pos", "neg"

        assert fitted.score(TEXTS, list(map(Opinion, LABELS))) == fitted.score(TEXTS, LABELS) > 0

    @pytest.mark.parametrize("class_weight", ["balanced", {"pos": 5, "neg": 1}, {"pos": 0.5}])
    def test_validation_documents_have_the_weights_of_their_classes(self, class_weight):
        rows = np.flatnonzero((LABELS == "neg") | (np.arange(48) % 4 == 0))
        some = [TEXTS[row] for row in rows], LABELS[rows]
        y_val = np.array(["pos", "neg", "neg", "pos", "neg"])
        model = tiny(class_weight=class_weight, max_epochs=1)
        model.fit(*some, X_val=TEXTS[:5], y_val=y_val)
        n = (some[1] == "pos").sum(), (some[1] == "neg").sum()
        ratio = {"balanced": n[1] / n[0]}.get(
            str(class_weight), 5 if len(class_weight) > 1 else 0.5
        )
        weights = np.where(y_val == "pos", ratio, 1)
        logits = model.net_.outputs(model.tokenizer_.transform(TEXTS[:5])).astype(np.float64)
        losses = -log_softmax(logits, axis=1)[np.arange(5), (y_val == "pos") * 1]
        expected = np.average(losses, weights=weights)
        assert model.history_[0]["valid_loss"] == pytest.approx(expected, rel=1e-5)

    def test_validation_documents_without_any_weight_are_refused(self):
        model = tiny(class_weight={"pos": 0, "neg": 1, "so so": 1})
        labels = np.where(np.arange(48) % 7 == 0, "so so", LABELS)
        with pytest.raises(ValueError, match="class_weight is 0 for the classes of all documents"):
            model.fit(TEXTS, labels, X_val=TEXTS[:2], y_val=["pos", "pos"])

    @pytest.mark.parametrize("output", ["ragged", "padded"])
    def test_raw_text_and_pipeline_give_the_same_numbers(self, fitted, output):
        tokenizer = HierarchicalTokenizer(output=output)
        pipeline = make_pipeline(tokenizer, tiny()).fit(TEXTS, LABELS)
        np.testing.assert_array_equal(pipeline.predict_proba(TEXTS), fitted.predict_proba(TEXTS))

    def test_tokenizer_parameter_is_cloned_and_fitted(self):
        tokenizer = HierarchicalTokenizer(lowercase=False)
        classifier = tiny(tokenizer=tokenizer).fit(TEXTS, LABELS)
        assert "Good" in classifier.tokenizer_.vocabulary_
        assert not hasattr(tokenizer, "vocabulary_")

    def test_log_probabilities_are_finite_where_a_probability_is_zero(self, fitted):
        classifier, pool = copy(fitted), fitted.pool_
        with_model(classifier, pool=replace(pool, scales={**pool.scales, "network": 1e6}))
        assert classifier.predict_proba(TEXTS).min() == 0
        found = classifier.predict_log_proba(TEXTS)
        assert np.isfinite(found).all()
        assert found.min() < -800  # the exponential of this is 0

    def test_labels_log_probabilities_and_log_odds_are_those_of_the_probabilities(self, fitted):
        proba, log_proba = fitted.predict_proba(TEXTS), fitted.predict_log_proba(TEXTS)
        assert fitted.classes_.tolist() == ["neg", "pos"]
        np.testing.assert_array_equal(fitted.predict(TEXTS), fitted.classes_[proba.argmax(axis=1)])
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(log_proba, np.log(proba), atol=1e-12)
        log_odds = np.diff(log_proba, axis=1)[:, 0]
        np.testing.assert_allclose(fitted.decision_function(TEXTS), log_odds, atol=1e-9)

    def test_two_dimensional_integers_are_documents_of_one_sentence(self):
        X = np.array([[2, 3, 0], [4, 0, 0], [2, 0, 0], [4, 3, 3]] * 10)
        y = np.array([0, 1, 0, 1] * 10)
        cube = tiny().fit(X[:, np.newaxis, :], y).predict_proba(X[:, np.newaxis, :])
        np.testing.assert_array_equal(tiny().fit(X, y).predict_proba(X), cube)

    def test_ids_beyond_the_vocabulary_are_read_as_unknown(self):
        X = DocumentArray.from_nested([[[2, 3]], [[4]]] * 10)
        classifier = tiny().fit(X, [0, 1] * 10)
        assert classifier.vocabulary_size_ == 5
        beyond = DocumentArray.from_nested([[[2, 99]]])
        unknown = DocumentArray.from_nested([[[2, 1]]])
        np.testing.assert_array_equal(
            classifier.predict_proba(beyond), classifier.predict_proba(unknown)
        )

    def test_ids_beyond_the_vocabulary_are_unknown_in_documents_for_validation(self):
        X = DocumentArray.from_nested(6 * [[[2, 3], [4]], [[3, 2]]])
        y = np.array(6 * ["pos", "neg"])
        losses = []
        for word in (99, 1):
            given = DocumentArray.from_nested([[[2, word]], [[word, 4]]])
            classifier = tiny().fit(X, y, X_val=given, y_val=["pos", "neg"])
            losses.append(classifier.history_[-1]["valid_loss"])
        assert losses[0] == losses[1]

    @pytest.mark.parametrize("make", [tiny, two_steps], ids=["alone", "in a Pipeline"])
    def test_a_single_class_is_predicted_with_a_warning_at_the_users_line(self, make):
        with pytest.warns(UserWarning, match="single class, 'only'") as warned:
            classifier = make().fit(TEXTS, ["only"] * len(TEXTS))
        assert [warning.filename for warning in warned] == [__file__]
        assert linecache.getline(__file__, warned[0].lineno).strip().endswith("* len(TEXTS))")
        assert classifier.predict(TEXTS[:2]).tolist() == ["only", "only"]

    def test_collections_too_small_to_split_are_trained_on_whole(self):
        classifier = tiny().fit(TEXTS[:4], LABELS[[0, 1, 3, 4]])
        assert "valid_loss" not in classifier.history_[0]


class TestBadInput:
    @pytest.mark.parametrize(
        "params",
        [
            {"dropout": 1.0},
            {"lr": 0},
            {"max_epochs": 0},
            {"optimizer": "best"},
            {"n_iter_no_change": 0},
        ],
    )
    def test_wrong_parameters_are_named(self, params):
        with pytest.raises(ValueError, match=next(iter(params))):
            tiny(**params).fit(TEXTS, LABELS)


class TestWeights:
    def test_a_document_of_weight_zero_is_left_out(self):
        weights = np.where(np.arange(len(TEXTS)) < 12, 0.0, 1.0)
        documents = HierarchicalTokenizer().fit_transform(TEXTS)
        weighted = tiny().fit(documents, LABELS, sample_weight=weights)
        without = tiny().fit(documents[12:], LABELS[12:])
        np.testing.assert_array_equal(
            weighted.predict_proba(documents), without.predict_proba(documents)
        )

    def test_the_words_of_a_document_of_weight_zero_are_unknown(self):
        texts = [f"{text} Secret{i} secret{i}." for i, text in enumerate(TEXTS)]
        weights = np.where(np.arange(len(texts)) < 12, 0.0, 1.0)
        weighted = tiny().fit(texts, LABELS, sample_weight=weights)
        without = tiny().fit(texts[12:], LABELS[12:])
        assert weighted.tokenizer_.vocabulary_ == without.tokenizer_.vocabulary_
        np.testing.assert_array_equal(weighted.predict_proba(texts), without.predict_proba(texts))

    def test_a_weight_of_two_equals_the_document_twice(self):
        params = {
            "batch_size": 99,
            "validation_fraction": None,
            "dropout": 0.0,
            "word_dropout": 0.0,
            "max_epochs": 4,
            "linear_ngrams": None,
        }
        documents = HierarchicalTokenizer().fit_transform(TEXTS[:6])
        weighted = tiny(**params).fit(documents, LABELS[:6], sample_weight=[2, 1, 1, 1, 1, 1])
        twice = tiny(**params).fit(documents[[0, *range(6)]], LABELS[[0, *range(6)]])
        # Four steps in single precision; without the weight the difference is 2e-3.
        np.testing.assert_allclose(
            weighted.predict_proba(documents), twice.predict_proba(documents), atol=1e-5
        )

    def test_class_weight_equals_sample_weight(self):
        by_class = tiny(class_weight={"pos": 3.0, "neg": 1.0}, validation_fraction=None)
        by_sample = tiny(validation_fraction=None)
        np.testing.assert_array_equal(
            by_class.fit(TEXTS, LABELS).predict_proba(TEXTS),
            by_sample.fit(
                TEXTS, LABELS, sample_weight=np.where(LABELS == "pos", 3.0, 1.0)
            ).predict_proba(TEXTS),
        )

    @pytest.mark.parametrize("size", [1e-300, 1e300])
    def test_only_ratios_of_weights_matter(self, fitted, size):
        scaled = tiny().fit(TEXTS, LABELS, sample_weight=np.full(len(TEXTS), size))
        np.testing.assert_array_equal(scaled.predict_proba(TEXTS), fitted.predict_proba(TEXTS))

    @pytest.mark.parametrize("weight", [np.nan, np.inf, -1, "a", None])
    def test_a_class_weight_that_is_no_weight_is_refused(self, weight):
        with pytest.raises(ValueError, match="'pos'"):
            tiny(class_weight={"pos": weight}).fit(TEXTS, LABELS)

    def test_class_weight_of_an_unknown_label_is_refused(self):
        with pytest.raises(ValueError, match="maybe"):
            tiny(class_weight={"maybe": 2.0}).fit(TEXTS, LABELS)


class TestReproducibility:
    def test_the_same_seed_gives_the_same_bits(self, fitted):
        np.testing.assert_array_equal(
            tiny().fit(TEXTS, LABELS).predict_proba(TEXTS), fitted.predict_proba(TEXTS)
        )

    def test_another_seed_gives_other_numbers(self, fitted):
        other = tiny(random_state=1).fit(TEXTS, LABELS)
        assert not np.array_equal(other.predict_proba(TEXTS), fitted.predict_proba(TEXTS))


def best_epoch(history):
    """The number of the first epoch of the highest accuracy, among equals of the lowest loss."""
    return 1 + max(
        range(len(history)),
        key=lambda i: (history[i]["valid_accuracy"], -history[i]["valid_loss"], -i),
    )


def loss_of_network(classifier, texts, labels):
    logits = classifier.net_.outputs(classifier.tokenizer_.transform(texts))
    targets = np.searchsorted(classifier.classes_, labels)
    return -log_softmax(logits, axis=1)[np.arange(len(texts)), targets].mean()


# One is wrong: the surer the network, the higher the loss, on any processor with any release.
LABELS_ONE_WRONG = np.array(["neg", *LABELS[1:9]])


@pytest.fixture(scope="module")
def risen_and_fallen():
    """A classifier whose best epoch is not its last."""
    # From learnt vectors so few words are learnt at once, and no epoch is worse than the best.
    settings = {"lr_schedule": "constant", "embedding_init": "random", "max_epochs": 20, "lr": 0.1}
    classifier = tiny(**settings)
    classifier.fit(TEXTS[:30], LABELS[:30], X_val=TEXTS[:9], y_val=LABELS_ONE_WRONG)
    assert best_epoch(classifier.history_) < 20  # else the tests show nothing
    return classifier


class TestHeldOutDocuments:
    def test_weights_of_the_best_epoch_are_kept(self, risen_and_fallen):
        best = risen_and_fallen.history_[best_epoch(risen_and_fallen.history_) - 1]
        loss = loss_of_network(risen_and_fallen, TEXTS[:9], LABELS_ONE_WRONG)
        assert loss == pytest.approx(best["valid_loss"], rel=1e-4)

    def test_best_epoch_and_score_are_those_of_the_history(self, risen_and_fallen):
        history = risen_and_fallen.history_
        assert risen_and_fallen.best_epoch_ == best_epoch(history)
        best = history[risen_and_fallen.best_epoch_ - 1]
        assert risen_and_fallen.best_score_ == best["valid_accuracy"]

    def test_by_default_all_epochs_run_though_the_best_is_past(self, risen_and_fallen):
        assert risen_and_fallen.n_iter_ == len(risen_and_fallen.history_) == 20

    def test_training_stops_so_many_epochs_after_the_best(self):
        # Steps below the rounding of the weights: the first epoch stays the best on any processor.
        classifier = tiny(max_epochs=40, lr=1e-20, lr_schedule="constant", n_iter_no_change=2)
        assert classifier.fit(TEXTS, LABELS).n_iter_ == 3

    def test_without_them_the_last_weights_are_kept(self):
        settings = {"lr_schedule": "constant", "lr": 0.02, "max_epochs": 3}
        kept = Weights()
        classifier = tiny(**settings, validation_fraction=None, callbacks=[("kept", kept)])
        classifier.fit(TEXTS, LABELS)
        last = dict(classifier.net_.callbacks_)["kept"].weights_[-1]
        np.testing.assert_array_equal(classifier.net_.weights["output.weight"], last)
        assert (classifier.best_epoch_, classifier.best_score_) == (None, None)

    def test_without_them_the_network_alone_has_the_scale_one(self):
        classifier = tiny(validation_fraction=None, linear_ngrams=None).fit(TEXTS, LABELS)
        assert (classifier.network_scale_, classifier.ngram_scale_) == (1.0, 0.0)

    def test_without_them_nothing_stops_training(self):
        classifier = tiny(validation_fraction=None, n_iter_no_change=1, lr=1e-9, max_epochs=4)
        with pytest.warns(UserWarning, match="n_iter_no_change=1 has no effect"):
            assert classifier.fit(TEXTS, LABELS).n_iter_ == 4

    def test_scales_are_fitted_on_them(self, fitted):
        scales = fitted.network_scale_, fitted.ngram_scale_
        assert all(type(scale) is float for scale in scales)
        usual = tiny(validation_fraction=None).fit(TEXTS, LABELS)
        assert fitted.network_scale_ != usual.network_scale_
        assert fitted.ngram_scale_ != usual.ngram_scale_

    def test_the_held_out_part_is_stratified(self):
        net = tiny(validation_fraction=0.25).fit(TEXTS, LABELS).net_
        assert np.bincount(net.train_split.keywords["valid_ds"].y).tolist() == [6, 6]

    def test_a_pipeline_hands_over_validation_texts_tokenized(self):
        with sk_han_routing():
            classifier = tiny().set_fit_request(X_val=True, y_val=True)
            pipeline = Pipeline(
                [("tokenizer", HierarchicalTokenizer()), ("han", classifier)],
                transform_input=["X_val"],
            )
            pipeline.fit(TEXTS, LABELS, X_val=TEXTS[:6], y_val=LABELS[:6])
        assert "valid_loss" in pipeline[-1].history_[0]

    def test_raw_validation_texts_behind_word_ids_are_refused_with_the_repair(self):
        documents = HierarchicalTokenizer().fit_transform(TEXTS)
        with pytest.raises(TypeError, match=r"X_val is a list.*transform_input"):
            tiny().fit(documents, LABELS, X_val=TEXTS[:3], y_val=LABELS[:3])

    def test_validation_ids_of_a_tokenizer_that_is_not_of_the_fit_are_refused(self):
        ids = HierarchicalTokenizer().fit_transform(TEXTS[:3])
        with pytest.raises(TypeError, match="X_val is a DocumentArray of word ids"):
            tiny().fit(TEXTS, LABELS, X_val=ids, y_val=LABELS[:3])

    def test_validation_ids_of_a_vocabulary_that_is_given_are_those_of_the_fit(self):
        given = HierarchicalTokenizer(vocabulary=HierarchicalTokenizer().fit(TEXTS).vocabulary_)
        ids = given.fit(TEXTS).transform(TEXTS[:3])
        of_ids, of_texts = (
            tiny(tokenizer=given).fit(TEXTS, LABELS, X_val=some, y_val=LABELS[:3])
            for some in (ids, TEXTS[:3])
        )
        assert of_ids.fit_summary_.loss == of_texts.fit_summary_.loss

    @pytest.mark.parametrize("given", [{"X_val": TEXTS[:3]}, {"y_val": LABELS[:3]}])
    def test_validation_texts_and_labels_go_together(self, given):
        with pytest.raises(ValueError, match="X_val and y_val"):
            tiny().fit(TEXTS, LABELS, **given)

    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            (["good", None], TypeError, r"Document 1 of X_val is missing.*X_val\.fillna"),
            ([], ValueError, "X_val has no documents"),
        ],
    )
    def test_what_is_wrong_with_validation_texts_is_said_of_them(self, given, error, message):
        with pytest.raises(error, match=message):
            tiny().fit(TEXTS, LABELS, X_val=given, y_val=LABELS[: len(given)])

    def test_a_validation_label_that_is_no_class_is_named(self):
        with pytest.raises(ValueError, match=r"y_val.*'maybe'"):
            tiny().fit(TEXTS, LABELS, X_val=TEXTS[:1], y_val=["maybe"])


def sk_han_routing():
    import sklearn

    return sklearn.config_context(enable_metadata_routing=True)


class Weights(Callback):
    """Keep the weights of the last layer at the end of each epoch."""

    def on_train_begin(self, net, **kwargs):
        self.weights_ = []

    def on_epoch_end(self, net, **kwargs):
        self.weights_.append(net.weights["output.weight"].copy())


class Interrupted(Callback):
    """Raise in the middle of an epoch, as Ctrl-C would."""

    def on_batch_end(self, net, **kwargs):
        raise KeyboardInterrupt


class TestAccidents:
    def test_an_interrupted_partial_fit_leaves_the_optimizer_as_it_was(self):
        classifier = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        expected = moments(classifier)
        with pytest.raises(KeyboardInterrupt):
            classifier.set_params(callbacks=[Interrupted()]).partial_fit(TEXTS, LABELS)
        assert moments(classifier) == expected

    def test_a_model_of_weights_that_are_no_numbers_is_never_returned(self):
        wild = tiny(
            optimizer="sgd", lr=1e36, validation_fraction=None, net_params={"clip_norm": None}
        )
        with pytest.raises(FloatingPointError, match="lr"):
            wild.fit(TEXTS, LABELS)
        with pytest.raises(FloatingPointError, match="lr"):
            wild.partial_fit(TEXTS, LABELS, classes=["neg", "pos"])


def moments(classifier):
    """Give the optimizer's moments as plain numbers."""
    state = classifier.net_.optimizer_.state_dict()["state"]
    return {i: {k: torch.as_tensor(v).tolist() for k, v in s.items()} for i, s in state.items()}


class TestGoingOn:
    def test_warm_start_goes_on_from_the_weights(self):
        # Learnt vectors of so few words make the first loss of both fits alike.
        settings = {"warm_start": True, "max_epochs": 8, "lr": 0.02, "embedding_init": "random"}
        warm = tiny(**settings).fit(TEXTS, LABELS)
        first = warm.history_[0]["train_loss"]
        assert warm.fit(TEXTS, LABELS).history_[0]["train_loss"] < first

    def test_warm_start_refuses_new_classes(self, fitted):
        warm = copy(fitted).set_params(warm_start=True)
        with pytest.raises(ValueError, match="'maybe'"):
            warm.fit(TEXTS, ["maybe", *LABELS[1:]])

    def test_warm_start_may_change_the_optimizer(self, fitted):
        warm = copy(fitted).set_params(warm_start=True, optimizer="adam")
        assert np.isfinite(warm.fit(TEXTS, LABELS).history_[-1]["train_loss"])

    def test_warm_start_heeds_changed_parameters(self):
        warm = tiny(warm_start=True, freeze_embedding=True).fit(TEXTS, LABELS)
        before = warm.net_.weights["embedding.weight"]
        warm.set_params(freeze_embedding=False, dropout=0.0).fit(TEXTS, LABELS)
        assert warm.net_.module_.options.dropout == 0.0
        assert not np.array_equal(warm.net_.weights["embedding.weight"], before)

    def test_partial_fit_needs_all_classes_first(self):
        with pytest.raises(ValueError, match="classes must be passed"):
            tiny().partial_fit(TEXTS, LABELS)

    def test_partial_fit_knows_classes_that_come_later(self):
        classifier = tiny().partial_fit(TEXTS[:3], LABELS[:3], classes=["neg", "pos"])
        assert classifier.partial_fit(TEXTS[3:6], LABELS[3:6]).predict_proba(TEXTS).shape[1] == 2

    def test_partial_fit_refuses_other_classes_later(self):
        classifier = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        with pytest.raises(ValueError, match="not the same"):
            classifier.partial_fit(TEXTS, LABELS, classes=["neg", "pos", "maybe"])

    def test_partial_fit_draws_new_noise_each_time(self):
        classifier = tiny(lr=1e-12, net_params={"optimizer__weight_decay": 0.0})
        classifier.partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        losses = [h["train_loss"] for h in classifier.partial_fit(TEXTS, LABELS).history_]
        assert losses[0] != losses[1]

    def test_partial_fit_goes_on_with_the_history(self):
        classifier = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        classifier.partial_fit(TEXTS, LABELS)
        assert [epoch["epoch"] for epoch in classifier.history_] == [1, 2]
        assert classifier.n_iter_ == 2

    def test_partial_fit_learns(self):
        classifier = tiny(lr=0.02, dropout=0.0, word_dropout=0.0, linear_ngrams=None)
        for _ in range(8):
            classifier.partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        losses = [epoch["train_loss"] for epoch in classifier.history_]
        assert losses[-1] < losses[0] / 2


def cued(n, seed):
    """Documents of noise with a cue word in the midst, and their labels."""
    rng = np.random.RandomState(seed)
    noise = [f"word{i}" for i in range(30)]
    labels = np.arange(n) % 2
    cues = [("good", "bad")[y] for y in labels]
    texts = [" ".join([*rng.choice(noise, 5), cue, *rng.choice(noise, 5)]) for cue in cues]
    return texts, np.array(["pos", "neg"])[labels]


def linear_log_odds(classifier, texts):
    logits = classifier.ngram_model_.logits(classifier.tokenizer_.transform(texts))
    return logits[:, 1] - logits[:, 0]


class TestLinearModelInPortions:
    def test_it_learns_the_cue_words(self):
        # The network learns nothing at this rate, so that what is right is right by the n-grams.
        classifier = tiny(lr=1e-9)
        for seed in range(4):
            classifier.partial_fit(*cued(20, seed), classes=["neg", "pos"])
        texts, labels = cued(40, seed=99)
        np.testing.assert_array_equal(classifier.predict(texts), labels)
        assert (linear_log_odds(classifier, ["good", "bad"]) * [1, -1] > 0).all()

    def test_it_goes_on_after_fit_with_the_scales_of_the_fit(self):
        classifier = tiny(lr=1e-9).fit(*cued(60, 0))
        before = classifier.ngram_model_
        scales = classifier.network_scale_, classifier.ngram_scale_
        usual = tiny(validation_fraction=None).fit(*cued(60, 0))
        assert scales[0] != usual.network_scale_
        assert scales[1] != usual.ngram_scale_
        classifier.partial_fit(*cued(20, 1))
        assert classifier.ngram_model_.counts.n_documents[0] == 80
        assert not np.array_equal(classifier.ngram_model_.weights, before.weights)
        assert (classifier.network_scale_, classifier.ngram_scale_) == scales

    def test_there_is_none_without_ngrams(self):
        classifier = tiny(linear_ngrams=None).partial_fit(*cued(20, 0), classes=["neg", "pos"])
        classifier.partial_fit(*cued(20, 1))
        assert classifier.ngram_model_ is None
        assert (classifier.network_scale_, classifier.ngram_scale_) == (1.0, 0.0)

    def test_none_begins_beside_a_fit_that_had_none(self):
        classifier = tiny(linear_ngrams=None).fit(TEXTS, LABELS)
        scale = classifier.network_scale_
        classifier.set_params(linear_ngrams=(1, 2)).partial_fit(TEXTS[:6], LABELS[:6])
        assert classifier.ngram_model_ is None
        assert (classifier.network_scale_, classifier.ngram_scale_) == (scale, 0.0)

    @pytest.mark.parametrize("params", [{"batch_size": -3}, {"lr": 0}, {"linear_ngrams": [1, 2]}])
    def test_a_wrong_parameter_is_named_in_later_portions_too(self, fitted, params):
        classifier = copy(fitted).set_params(**params)
        with pytest.raises(ValueError, match=f"{next(iter(params))!r} parameter"):
            classifier.partial_fit(TEXTS, LABELS)


class TestEmbedding:
    def test_an_array_of_vectors_is_where_training_starts(self):
        X = DocumentArray.from_nested([[[2]], [[3]]] * 10)
        vectors = np.arange(28, dtype=np.float32).reshape(4, 7) / 28
        frozen = tiny(embedding_init=vectors, freeze_embedding=True).fit(X, [0, 1] * 10)
        np.testing.assert_array_equal(frozen.net_.weights["embedding.weight"], vectors)

    def test_a_mapping_is_aligned_with_the_vocabulary(self):
        vectors = {"good": np.arange(7), "bad": -np.arange(7)}
        classifier = tiny(embedding_init=vectors, freeze_embedding=True).fit(TEXTS, LABELS)
        row = classifier.tokenizer_.vocabulary_["bad"]
        np.testing.assert_array_equal(
            classifier.net_.weights["embedding.weight"][row], -np.arange(7)
        )

    def test_an_array_may_hold_words_that_training_lacks(self):
        X = DocumentArray.from_nested([[[2]], [[3]]] * 10)
        vectors = np.ones((6, 7), dtype=np.float32)
        assert tiny(embedding_init=vectors).fit(X, [0, 1] * 10).vocabulary_size_ == 6


class TestSaving:
    def test_fitted_state_is_arrays_and_plain_types(self, fitted):
        def check(value):
            if isinstance(value, dict):
                [check(item) for item in value.values()]
            elif isinstance(value, (list, tuple)):
                [check(item) for item in value]
            else:
                assert isinstance(value, (np.ndarray, str, int, float, bool, type(None))), value

        state = fitted.to_state()
        check({**state, "tokenizer": state["tokenizer"].__getstate__()})

    def test_every_fitted_attribute_comes_back(self, fitted):
        def learnt(classifier):
            return {name for name in vars(classifier) if name.endswith("_")}

        loaded = joblib_round_trip(fitted)
        assert learnt(loaded) == learnt(fitted)
        for name in ("history_", "n_iter_", "best_epoch_", "best_score_", "vocabulary_size_"):
            assert getattr(loaded, name) == getattr(fitted, name)

    @pytest.mark.thorough
    def test_a_new_process_gives_equal_probabilities(self, fitted, tmp_path):
        joblib.dump(fitted, tmp_path / "model.joblib")
        joblib.dump(TEXTS[:9], tmp_path / "texts.joblib")
        script = (
            "import joblib, numpy, sys; folder = sys.argv[1]; "
            "model = joblib.load(folder + '/model.joblib'); "
            "texts = joblib.load(folder + '/texts.joblib'); "
            "numpy.save(folder + '/proba.npy', model.predict_proba(texts))"
        )
        subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=120)
        np.testing.assert_array_equal(
            np.load(tmp_path / "proba.npy"), fitted.predict_proba(TEXTS[:9])
        )

    def test_a_loaded_model_learns_on(self, fitted):
        loaded = joblib_round_trip(fitted)
        assert np.isfinite(loaded.partial_fit(TEXTS, LABELS).history_[0]["train_loss"])

    def test_changed_parameters_do_not_hinder_loading(self, fitted):
        classifier = copy(fitted).set_params(word_hidden=11)
        assert joblib_round_trip(classifier).predict(TEXTS[:1]).shape == (1,)

    def test_a_memory_mapped_model_predicts_the_same(self, fitted, tmp_path):
        joblib.dump(fitted, tmp_path / "model.joblib")
        loaded = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
        np.testing.assert_array_equal(loaded.predict_proba(TEXTS), fitted.predict_proba(TEXTS))

    def test_the_batch_size_of_predictions_is_kept(self):
        classifier = tiny(net_params={"valid_batch_size": 3}).fit(TEXTS, LABELS)
        assert joblib_round_trip(classifier).net_.valid_batch_size == 3


def joblib_round_trip(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


class TestModelSelection:
    @pytest.mark.thorough
    def test_grid_search_over_both_steps_gives_the_same_bits_with_any_n_jobs(self, one_thread):
        pipeline = Pipeline([("tokenizer", HierarchicalTokenizer()), ("han", tiny())])
        grid = {"tokenizer__min_df": [1, 2], "han__word_hidden": [3, 5]}
        searches = [
            GridSearchCV(pipeline, grid, cv=2, n_jobs=n, scoring="neg_log_loss").fit(TEXTS, LABELS)
            for n in (1, 2)
        ]
        np.testing.assert_array_equal(
            searches[0].cv_results_["mean_test_score"], searches[1].cv_results_["mean_test_score"]
        )
        np.testing.assert_array_equal(
            searches[0].predict_proba(TEXTS), searches[1].predict_proba(TEXTS)
        )


class TestNet:
    @pytest.mark.parametrize(
        "name", ["batch_size", "max_epochs", "callbacks", "module", "optimizer"]
    )
    def test_net_params_do_not_override_the_classifiers_own(self, name):
        with pytest.raises(ValueError, match=name):
            tiny(net_params={name: None}).fit(TEXTS, LABELS)

    def test_loaded_weights_replace_the_table_of_projected_words(self, fitted, tmp_path):
        first, second = fitted, tiny(random_state=1).fit(TEXTS, LABELS)
        first.net_.save_params(f_params=tmp_path / "weights.pt")
        second.net_.load_params(f_params=tmp_path / "weights.pt")
        documents = first.tokenizer_.transform(TEXTS)
        np.testing.assert_allclose(
            second.net_.outputs(documents), first.net_.outputs(documents), atol=1e-6
        )

    def test_every_callback_sees_the_last_epoch(self):
        class Ends(Callback):
            def on_epoch_end(self, net, **kwargs):
                if len(net.history) == 2:
                    raise KeyboardInterrupt  # as skorch's callbacks do

        class Counter(Callback):
            def on_epoch_end(self, net, **kwargs):
                net.history.record("mine", len(net.history))

        stopped = tiny(callbacks=[("ends", Ends()), ("mine", Counter())], max_epochs=40)
        stopped.fit(TEXTS, LABELS)
        assert [epoch.get("mine") for epoch in stopped.history_] == [1, 2]

    def test_the_net_predicts_for_itself(self):
        classifier = tiny(linear_ngrams=None, validation_fraction=None).fit(TEXTS, LABELS)
        documents = classifier.tokenizer_.transform(TEXTS)
        data = LabelledDocuments(documents, np.zeros(len(TEXTS), int), np.ones(len(TEXTS)))
        np.testing.assert_allclose(
            classifier.net_.predict_proba(data), classifier.predict_proba(TEXTS), atol=1e-6
        )

    def test_an_optimizer_class_is_taken(self):
        classifier = tiny(optimizer=torch.optim.RMSprop).fit(TEXTS, LABELS)
        assert isinstance(classifier.net_.optimizer_, torch.optim.RMSprop)

    def test_an_optimizer_without_weight_decay_is_taken(self):
        classifier = tiny(optimizer=torch.optim.Rprop).fit(TEXTS, LABELS)
        assert isinstance(classifier.net_.optimizer_, torch.optim.Rprop)

    def test_what_is_no_optimizer_is_refused(self):
        with pytest.raises(TypeError, match="optimizer"):
            tiny(optimizer=int).fit(TEXTS, LABELS)

    def test_sizes_may_be_numpy_integers(self):
        sizes = {"embedding_dim": 3, "word_hidden": 2, "sentence_hidden": 2, "pooling__size": 2}
        classifier = tiny().set_params(**{name: np.int64(size) for name, size in sizes.items()})
        assert classifier.fit(TEXTS, LABELS).transform(TEXTS).shape == (len(TEXTS), 4)

    def test_skorch_scoring_callbacks_see_the_held_out_documents(self):
        scoring = ("recall", EpochScoring("recall_macro", lower_is_better=False))
        classifier = tiny(callbacks=[scoring]).fit(TEXTS, LABELS)
        assert 0 <= classifier.net_.history[-1, "recall_macro"] <= 1

    def test_one_cycle_rises_to_lr_and_falls(self):
        class Rates(Callback):
            def on_train_begin(self, net, **kwargs):
                self.rates_ = []

            def on_batch_end(self, net, training=False, **kwargs):
                if training:
                    self.rates_.append(net.optimizer_.param_groups[0]["lr"])

        classifier = tiny(
            callbacks=[("rates", Rates())], max_epochs=10, lr=0.01, n_iter_no_change=99
        )
        rates = dict(classifier.fit(TEXTS, LABELS).net_.callbacks_)["rates"].rates_
        assert max(rates) == pytest.approx(0.01, rel=0.05)
        assert rates[0] < 0.001
        assert rates[-1] < 0.001

    def test_verbose_shows_the_epochs(self, capfd):
        tiny(verbose=1).fit(TEXTS, LABELS)
        shown = capfd.readouterr().err
        assert "epoch 2 of 2" in shown
        assert "valid_accuracy" in shown

    def test_silence_is_the_default(self, capfd):
        tiny().fit(TEXTS, LABELS)
        assert capfd.readouterr() == ("", "")

    @needs_gpu
    def test_a_seed_gives_the_same_bits_on_a_gpu(self):
        one, two = (tiny(device="cuda", max_epochs=2).fit(TEXTS, LABELS) for _ in range(2))
        expected = one.predict_proba(TEXTS)
        assert np.array_equal(one.predict_proba(TEXTS), expected)
        assert np.array_equal(two.predict_proba(TEXTS), expected)

    @needs_gpu
    def test_a_gpu_gives_the_numbers_of_the_cpu(self):
        params = {"dropout": 0.0, "word_dropout": 0.0, "max_epochs": 1}
        on_gpu = tiny(device="cuda", **params).fit(TEXTS, LABELS)
        on_cpu = tiny(device="cpu", **params).fit(TEXTS, LABELS)
        assert on_gpu.device_ == "cuda"
        np.testing.assert_allclose(
            on_gpu.predict_proba(TEXTS), on_cpu.predict_proba(TEXTS), atol=1e-4
        )
