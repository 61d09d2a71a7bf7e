"""Errors of callbacks at every moment: the earlier model, the error and the surroundings stay."""

import signal
from functools import partial

import numpy as np
import pytest
import torch
from skorch.callbacks import (
    BatchScoring,
    Checkpoint,
    EpochScoring,
    GradientNormClipping,
    LoadInitState,
    LRScheduler,
)

from sk_han._kernels.engine import engine_in_use, n_threads
from tests import tiny_models, tiny_pairs, tiny_sentences
from tests.faults.test_accidents import LABELS, MOMENTS, TEXTS, At, fault, state_stays
from tests.thorough import first_fast

# Others than those of the process, so that what is not put back is seen.
tiny = partial(tiny_models.tiny, max_epochs=2, engine="torch", n_threads=3, verbose=0)

INDICATOR = np.array([[label == "pos", i % 3 == 0] for i, label in enumerate(LABELS)], dtype=int)
HOOKS = ["initialize", *MOMENTS]


# Estimators that train by skorch, with held-out data.
TRAINERS = {
    "classes": lambda **params: tiny(validation_fraction=0.3, **params).fit(TEXTS, LABELS),
    "labels": lambda **params: tiny(validation_fraction=0.3, **params).fit(TEXTS, INDICATOR),
    "tags": lambda **params: tiny_sentences.tiny_tagger(
        max_epochs=2, validation_fraction=0.3, **params
    ).fit(tiny_sentences.X, tiny_sentences.Y),
    "pairs": lambda **params: tiny_pairs.tiny(validation_fraction=0.3, **params).fit(
        *tiny_pairs.pairs()
    ),
}
each_trainer = pytest.mark.parametrize("train", TRAINERS.values(), ids=TRAINERS)


@each_trainer
def test_skorch_scoring_callbacks_score_the_held_out_documents(train):
    seen = []

    def score(net, X, y):
        seen.append(len(y) == len(net.predict(X)))
        return 0.5

    scorings = [
        kind(scoring, name=f"score {i}", use_caching=i % 2 == 0)
        for i, (kind, scoring) in enumerate(
            [
                *(2 * [(EpochScoring, "accuracy")] + 2 * [(EpochScoring, None)]),
                *(2 * [(BatchScoring, "accuracy")] + 2 * [(EpochScoring, score)]),
            ]
        )
    ]
    on_training = EpochScoring("accuracy", name="on training data", on_train=True)
    epoch = train(callbacks=[*scorings, on_training]).history_[-1]
    scores = [epoch[f"score {i}"] for i in range(6)]
    assert scores == pytest.approx(6 * [epoch["valid_accuracy"]])
    assert 0 <= epoch["on training data"] <= 1
    assert seen == 4 * [True]


@pytest.mark.parametrize(
    ("targets", "name"),
    [
        *(("classes", name) for name in ("roc_auc", "neg_log_loss", "f1")),
        *(("labels", name) for name in ("average_precision", "f1_samples")),
    ],
)
def test_scorers_of_probabilities_take_two_classes_and_two_labels(name, targets):
    score = TRAINERS[targets](callbacks=[EpochScoring(name)]).history_[-1][name]
    assert -2 < score <= 1


@each_trainer
def test_a_gradient_clipping_callback_clips_gradients(train):
    losses = [
        train(lr=0.1, callbacks=callbacks).history_[-1]["train_loss"]
        for callbacks in (None, [GradientNormClipping(1.0)], [("clip", GradientNormClipping(1e-9))])
    ]
    assert losses[0] == losses[1] != losses[2]


@each_trainer
def test_a_users_learning_rate_schedule_replaces_the_default_one(train):
    steps = LRScheduler("StepLR", step_size=1, gamma=0.1)
    rates = [epoch["event_lr"] for epoch in train(lr=0.03, callbacks=[steps]).history_]
    assert rates == pytest.approx([0.03, 0.003])


@each_trainer
def test_unsupported_callbacks_are_refused_with_the_repair(train, tmp_path):
    with pytest.raises(ValueError, match=r"LoadInitState cannot be used: .* warm_start=True"):
        train(callbacks=[LoadInitState(Checkpoint(dirname=tmp_path))])
    with pytest.raises(TypeError, match=r"hold skorch callbacks, such as .*; got 'StopAfter'\."):
        train(callbacks=["StopAfter"])
    with pytest.raises(ValueError, match="must have gradient_clip_norm_type=2; got 'inf'"):
        train(callbacks=[GradientNormClipping(1.0, "inf")])


def surroundings():
    return {
        "threads of PyTorch": torch.get_num_threads(),
        "threads of kernels": n_threads(),
        "engine": engine_in_use(),
        "gradients": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "dtype": torch.get_default_dtype(),
        "errors of NumPy": np.geterr(),
        "Ctrl-C": signal.getsignal(signal.SIGINT),
        "generator of PyTorch": torch.random.get_rng_state().tolist(),
        "generator of NumPy": np.random.get_state()[1].tolist(),
    }


@pytest.mark.parametrize("hook", first_fast(sorted(HOOKS, reverse=True), 1))
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_error_in_a_hook_is_raised_and_changes_nothing(hook, method):
    classifier = tiny().fit(TEXTS, LABELS).set_params(callbacks=[At(hook, fault)])
    before = surroundings()
    with state_stays(classifier), pytest.raises(ZeroDivisionError):
        getattr(classifier, method)(TEXTS, LABELS)
    assert surroundings() == before
