import pickle
from copy import copy
from functools import partial

import joblib
import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from skorch.callbacks import Callback

from sk_han import HierarchicalTokenizer
from tests import tiny_models
from tests.gpu import needs_gpu
from tests.tiny_models import BAD, GOOD

TEXTS = 8 * (GOOD + BAD)
LABELS = np.array(8 * (3 * ["pos"] + 3 * ["neg"]))
IDS = HierarchicalTokenizer().fit_transform(TEXTS)

tiny = partial(tiny_models.tiny, max_epochs=2, batch_size=16)


@pytest.fixture(scope="module")
def fitted():
    return tiny().fit(TEXTS, LABELS)


class TestFitAndPredict:
    def test_a_cue_word_is_learnt(self):
        classifier = tiny(max_epochs=30, lr=0.02, validation_fraction=None).fit(TEXTS, LABELS)
        assert classifier.score(TEXTS, LABELS) == 1.0

    @pytest.mark.parametrize(("class_weight", "ratio"), [("balanced", 2), ({"pos": 5}, 5)])
    def test_class_weight_applies_to_validation_documents(self, class_weight, ratio):
        rows = [*np.flatnonzero(LABELS == "neg"), *np.flatnonzero(LABELS == "pos")[:12]]
        X, y = [TEXTS[row] for row in rows], LABELS[rows]
        X_val, y_val = TEXTS[:5], np.array(["pos", "neg", "neg", "pos", "neg"])
        model = tiny(class_weight=class_weight, max_epochs=1).fit(X, y, X_val=X_val, y_val=y_val)
        expected = np.average(
            losses_of_network(model, X_val, y_val), weights=np.where(y_val == "pos", ratio, 1)
        )
        assert model.history_[0]["valid_loss"] == pytest.approx(expected, rel=1e-5)

    def test_validation_documents_without_any_weight_are_refused(self):
        model = tiny(class_weight={"pos": 0, "neg": 1, "so so": 1})
        labels = np.where(np.arange(48) % 7 == 0, "so so", LABELS)
        with pytest.raises(ValueError, match="class_weight is 0 for the classes of all documents"):
            model.fit(TEXTS, labels, X_val=TEXTS[:2], y_val=["pos", "pos"])

    def test_labels_and_log_odds_agree_with_the_probabilities(self, fitted):
        proba, log_proba = fitted.predict_proba(TEXTS), fitted.predict_log_proba(TEXTS)
        assert fitted.classes_.tolist() == ["neg", "pos"]
        np.testing.assert_array_equal(fitted.predict(TEXTS), fitted.classes_[proba.argmax(axis=1)])
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(log_proba, np.log(proba), atol=1e-12)
        log_odds = np.diff(log_proba, axis=1)[:, 0]
        np.testing.assert_allclose(fitted.decision_function(TEXTS), log_odds, atol=1e-9)


class TestWeights:
    def test_words_of_documents_of_weight_zero_are_unknown(self):
        texts = [f"{text} Secret{i} secret{i}." for i, text in enumerate(TEXTS)]
        weights = np.where(np.arange(len(texts)) < 12, 0.0, 1.0)
        weighted = tiny().fit(texts, LABELS, sample_weight=weights)
        without = tiny().fit(texts[12:], LABELS[12:])
        assert weighted.tokenizer_.vocabulary_ == without.tokenizer_.vocabulary_
        np.testing.assert_array_equal(weighted.predict_proba(texts), without.predict_proba(texts))

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("epochs", "max_epochs"),
            ("max_epoch", "max_epochs"),
            ("learning_rate", "lr"),
            ("n_jobs", "n_threads"),
        ],
    )
    def test_parameters_of_other_libraries_get_a_suggestion(self, name, meant):
        with pytest.raises(TypeError, match=rf"'{name}'\. Did you mean '{meant}'\?"):
            tiny(**{name: 1})
        with pytest.raises(TypeError, match=r"no parameter 'validation_data'\. .* 'X_val'\?"):
            tiny().fit(TEXTS, LABELS, validation_data=(TEXTS, LABELS))


class TestReproducibility:
    def test_only_the_same_seed_gives_the_same_bits(self, fitted):
        same, other = (
            tiny(random_state=seed).fit(TEXTS, LABELS).predict_proba(TEXTS) for seed in (0, 1)
        )
        np.testing.assert_array_equal(same, fitted.predict_proba(TEXTS))
        assert not np.array_equal(other, same)


def best_epoch(history):
    """The number of the first epoch of the highest accuracy, among equals of the lowest loss."""
    scores = [(epoch["valid_accuracy"], -epoch["valid_loss"]) for epoch in history]
    return 1 + scores.index(max(scores))


def losses_of_network(classifier, texts, labels):
    logits = classifier.net_.outputs(classifier.tokenizer_.transform(texts))
    targets = np.searchsorted(classifier.classes_, labels)
    return -log_softmax(logits.astype(np.float64), axis=1)[np.arange(len(texts)), targets]


class TestHeldOutDocuments:
    def test_weights_of_the_best_epoch_are_kept(self):
        # From learnt vectors so few words are learnt at once, and no epoch is worse than the best.
        settings = {"lr_schedule": "constant", "embedding_init": "random", "lr": 0.1}
        # One is wrong: the surer the network, the higher the loss, on any processor.
        X_val, y_val = TEXTS[:9], np.array(["neg", *LABELS[1:9]])
        model = tiny(max_epochs=20, **settings)
        model.fit(TEXTS[:30], LABELS[:30], X_val=X_val, y_val=y_val)
        assert len(model.history_) == 20 > best_epoch(model.history_)
        best = model.history_[best_epoch(model.history_) - 1]
        assert (model.best_epoch_, model.best_score_) == (best["epoch"], best["valid_accuracy"])
        loss = losses_of_network(model, X_val, y_val).mean()
        assert loss == pytest.approx(best["valid_loss"], rel=1e-4)

    def test_a_network_alone_is_not_rescaled_without_held_out_documents(self):
        classifier = tiny(validation_fraction=None, linear_ngrams=None).fit(TEXTS, LABELS)
        assert (classifier.best_epoch_, classifier.best_score_) == (None, None)
        assert (classifier.network_scale_, classifier.ngram_scale_) == (1.0, 0.0)

    def test_validation_documents_may_be_ids_of_a_fixed_vocabulary(self):
        given = HierarchicalTokenizer(vocabulary=HierarchicalTokenizer().fit(TEXTS).vocabulary_)
        ids = given.fit(TEXTS).transform(TEXTS[:3])
        of_ids, of_texts = (
            tiny(tokenizer=given).fit(TEXTS, LABELS, X_val=some, y_val=LABELS[:3])
            for some in (ids, TEXTS[:3])
        )
        assert of_ids.fit_summary_.loss == of_texts.fit_summary_.loss

    @pytest.mark.parametrize(
        ("validation", "error", "message"),
        [
            ({"X_val": TEXTS[:3]}, ValueError, "X_val and y_val"),
            ({"y_val": LABELS[:3]}, ValueError, "X_val and y_val"),
            ({"X_val": ["good", None], "y_val": LABELS[:2]}, TypeError, "Document 1 of X_val is m"),
            ({"X_val": [], "y_val": []}, ValueError, "X_val has no documents"),
            ({"X_val": TEXTS[:1], "y_val": ["maybe"]}, ValueError, r"y_val.*'maybe'"),
            (
                {"X_val": IDS[:3], "y_val": LABELS[:3]},
                TypeError,
                "X_val is a DocumentArray of word",
            ),
        ],
    )
    def test_errors_in_validation_data_name_the_argument(self, validation, error, message):
        with pytest.raises(error, match=message):
            tiny().fit(TEXTS, LABELS, **validation)

    def test_raw_validation_texts_are_refused_after_a_fit_to_ids(self):
        with pytest.raises(TypeError, match=r"X_val is a list.*transform_input"):
            tiny().fit(IDS, LABELS, X_val=TEXTS[:3], y_val=LABELS[:3])


class Interrupted(Callback):
    """Raise in the middle of an epoch, as Ctrl-C would."""

    def on_batch_end(self, net, **kwargs):
        raise KeyboardInterrupt


class TestAccidents:
    def test_an_interrupted_partial_fit_leaves_the_optimizer_unchanged(self):
        classifier = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        expected = moments(classifier)
        with pytest.raises(KeyboardInterrupt):
            classifier.set_params(callbacks=[Interrupted()]).partial_fit(TEXTS, LABELS)
        assert moments(classifier) == expected


def moments(classifier):
    """Give the optimizer's moments as plain numbers."""
    state = classifier.net_.optimizer_.state_dict()["state"]
    return {i: {k: torch.as_tensor(v).tolist() for k, v in s.items()} for i, s in state.items()}


class TestGoingOn:
    def test_warm_start_continues_from_the_weights(self):
        # Learnt vectors of so few words make the first loss of both fits alike.
        settings = {"warm_start": True, "max_epochs": 8, "lr": 0.02, "embedding_init": "random"}
        warm = tiny(**settings).fit(TEXTS, LABELS)
        first = warm.history_[0]["train_loss"]
        assert warm.fit(TEXTS, LABELS).history_[0]["train_loss"] < first

    def test_a_copy_continues_training_like_the_original(self):
        classifier = tiny(warm_start=True, optimizer="adam").fit(TEXTS, LABELS)
        other = pickle.loads(pickle.dumps(classifier)).fit(TEXTS, LABELS)
        classifier.fit(TEXTS, LABELS)
        assert other.history_[-1]["train_loss"] == classifier.history_[-1]["train_loss"]
        np.testing.assert_array_equal(other.predict_proba(TEXTS), classifier.predict_proba(TEXTS))

    def test_each_further_fit_draws_new_noise(self):
        # The weights stay, so that a loss shows noise and order alone.
        still = {"lr": 1e-12, "net_params": {"optimizer__weight_decay": 0.0}}
        classifier = tiny(warm_start=True, **still)
        learns = [classifier.fit, classifier.fit, classifier.partial_fit, classifier.partial_fit]
        losses = [learn(TEXTS, LABELS).history_[-1]["train_loss"] for learn in learns]
        assert np.abs(np.diff(losses)).min() > 1e-6

    def test_warm_start_refuses_new_classes(self, fitted):
        warm = copy(fitted).set_params(warm_start=True)
        with pytest.raises(ValueError, match="'maybe'"):
            warm.fit(TEXTS, ["maybe", *LABELS[1:]])

    def test_warm_start_applies_changed_parameters(self):
        warm = tiny(warm_start=True, freeze_embedding=True).fit(TEXTS, LABELS)
        before = warm.net_.weights["embedding.weight"]
        warm.set_params(freeze_embedding=False, dropout=0.0, optimizer="adam").fit(TEXTS, LABELS)
        assert warm.net_.module_.options.dropout == 0.0
        assert not np.array_equal(warm.net_.weights["embedding.weight"], before)

    def test_the_first_partial_fit_needs_all_classes_and_fixes_them(self):
        with pytest.raises(ValueError, match="classes must be passed"):
            tiny().partial_fit(TEXTS, LABELS)
        classifier = tiny().partial_fit(TEXTS[:3], LABELS[:3], classes=["neg", "pos"])
        with pytest.raises(ValueError, match="not the same"):
            classifier.partial_fit(TEXTS, LABELS, classes=["neg", "pos", "maybe"])

    def test_a_copy_starts_with_fresh_optimizer_moments(self):
        classifier = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        other = pickle.loads(pickle.dumps(classifier)).partial_fit(TEXTS, LABELS)
        cleared = pickle.loads(pickle.dumps(classifier))
        classifier.partial_fit(TEXTS, LABELS)
        assert not np.array_equal(other.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
        np.testing.assert_array_equal(
            cleared.partial_fit(TEXTS, LABELS).predict_proba(TEXTS), other.predict_proba(TEXTS)
        )

    def test_partial_fit_learns(self):
        classifier = tiny(lr=0.02, dropout=0.0, word_dropout=0.0, linear_ngrams=None)
        for _ in range(8):
            classifier.partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        assert [epoch["epoch"] for epoch in classifier.history_] == list(range(1, 9))
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
    def test_the_ngram_model_learns_cue_words_from_portions(self):
        # The network learns nothing at this rate, so that what is right is right by the n-grams.
        classifier = tiny(lr=1e-9)
        for seed in range(4):
            classifier.partial_fit(*cued(20, seed), classes=["neg", "pos"])
        texts, labels = cued(40, seed=99)
        np.testing.assert_array_equal(classifier.predict(texts), labels)
        assert (linear_log_odds(classifier, ["good", "bad"]) * [1, -1] > 0).all()

    def test_partial_fit_continues_the_ngram_model_and_keeps_the_scales(self):
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

    def test_partial_fit_adds_no_missing_ngram_model(self):
        classifier = tiny(linear_ngrams=None).fit(TEXTS, LABELS)
        scale = classifier.network_scale_
        classifier.set_params(linear_ngrams=(1, 2)).partial_fit(TEXTS[:6], LABELS[:6])
        assert classifier.ngram_model_ is None
        assert (classifier.network_scale_, classifier.ngram_scale_) == (scale, 0.0)


class TestSaving:
    def test_a_memory_mapped_model_predicts_the_same(self, fitted, tmp_path):
        joblib.dump(fitted, tmp_path / "model.joblib")
        loaded = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
        np.testing.assert_array_equal(loaded.predict_proba(TEXTS), fitted.predict_proba(TEXTS))


class TestNet:
    def test_loaded_weights_replace_the_table_of_projected_words(self, fitted, tmp_path):
        first, second = fitted, tiny(random_state=1).fit(TEXTS, LABELS)
        first.net_.save_params(f_params=tmp_path / "weights.pt")
        second.net_.load_params(f_params=tmp_path / "weights.pt")
        documents = first.tokenizer_.transform(TEXTS)
        np.testing.assert_allclose(
            second.net_.outputs(documents), first.net_.outputs(documents), atol=1e-6
        )

    def test_an_optimizer_without_weight_decay_is_accepted(self):
        classifier = tiny(optimizer=torch.optim.Rprop).fit(TEXTS, LABELS)
        assert isinstance(classifier.net_.optimizer_, torch.optim.Rprop)

    def test_objects_other_than_optimizers_are_refused(self):
        with pytest.raises(TypeError, match="optimizer"):
            tiny(optimizer=int).fit(TEXTS, LABELS)

    def test_the_one_cycle_schedule_rises_to_lr_and_falls(self):
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

    def test_fit_prints_nothing_by_default(self, capfd):
        tiny().fit(TEXTS, LABELS)
        assert capfd.readouterr() == ("", "")

    @needs_gpu
    def test_a_seed_gives_the_same_bits_on_a_gpu(self):
        one, two = (tiny(device="cuda", max_epochs=2).fit(TEXTS, LABELS) for _ in range(2))
        expected = one.predict_proba(TEXTS)
        assert np.array_equal(one.predict_proba(TEXTS), expected)
        assert np.array_equal(two.predict_proba(TEXTS), expected)

    @needs_gpu
    def test_a_gpu_and_the_cpu_give_the_same_results(self):
        params = {"dropout": 0.0, "word_dropout": 0.0, "max_epochs": 1}
        on_gpu = tiny(device="cuda", **params).fit(TEXTS, LABELS)
        on_cpu = tiny(device="cpu", **params).fit(TEXTS, LABELS)
        assert on_gpu.device_ == "cuda"
        np.testing.assert_allclose(
            on_gpu.predict_proba(TEXTS), on_cpu.predict_proba(TEXTS), atol=1e-4
        )
