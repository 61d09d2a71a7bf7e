"""Training of the network: pre-training, the first cycle of epochs, and perhaps a second one."""

from __future__ import annotations

import copy
import math
import zlib
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from sk_han._documents import UNKNOWN_ID, LabelledDocuments
from sk_han._fitting.data import FitState
from sk_han._fitting.scales import FittedNetwork, HeldOutLogits, ScalePrior, fit_scales
from sk_han._parts import Pool
from sk_han._parts.pool import NETWORK
from sk_han._parts.trained_network import TrainedNetwork
from sk_han._training.builder import (
    batch_size_for,
    document_net,
    epochs_for,
    epochs_for_steps,
    epochs_frozen,
    new_net,
)
from sk_han._training.callbacks import StopAfter
from sk_han._training.net import Net
from sk_han._training.pretraining import (
    PRETRAINING_BATCH_SIZE,
    PRETRAINING_STEPS,
    labelled_by_other_half,
    sample_to_pretrain,
)
from sk_han._utils.progress import tell
from sk_han.embeddings._cooccurrence import initial_vectors

# Priors of the scale of a network next to other parts; they are small, since logits of networks are
# overconfident. Without held-out documents the medians are the scales. They were estimated on six
# corpora with 300 to 5,000 documents, together with those in `linear` (docs/what_was_tried.md).
OF_WORDS = ScalePrior(0.12, 0.6)
# A network that was pre-trained on text without labels deserves more weight; this prior was
# estimated on four corpora with 500 and 1,000 documents.
PRETRAINED = ScalePrior(0.35, 0.6)
# Next to sentence vectors a network adds little up to 1,000 documents, and more with further ones.
NEXT_TO_VECTORS = ScalePrior(0.06, 0.8)

# After pre-training, fewer epochs at a lower rate suffice; factors relative to no pre-training.
_FINE_TUNING_EPOCHS, _FINE_TUNING_LR = 1 / 2, 1 / 3
# Training stops once its loss is below this share of the loss of predicting class frequencies,
# since the training documents are then learnt by heart.
_LEARNT = 0.05
# A second cycle of epochs follows if the held-out loss of the network is below that of the n-grams
# by so many standard errors. The difference is 4 to 15 of them on generated reviews, whose classes
# depend on the order of words, and at most 1.5 on five corpora. It also follows if the training
# loss is above this share of the loss of predicting class frequencies, since such a network has
# learnt too little to be compared.
_BETTER, _UNLEARNT = 2.0, 0.7
# With up to 16 documents per step, the first cycle is cut to this share if a second one, twice as
# long, may follow. Both together have at most `_MOST_EPOCHS` epochs.
_SHORT, _MOST_EPOCHS = 3 / 4, 20
# Shares of the time that is left, if it is limited; the last validation and the scales take 2 %.
_OF_PRETRAINING, _OF_THE_REST, _SHORTEST = 2 / 3, 0.97, 1e-3
_LIMIT = "time_limit"  # name of the callback
# The scale of an earlier fit is the median of a log-normal prior, so it cannot be 0.
_SMALLEST_SCALE = 0.01


def fit_network(
    fit: FitState, teacher: Pool | None, ngrams: HeldOutLogits | None = None
) -> FittedNetwork:
    """Fit the network, and score the held-out documents.

    `ngrams` are the logits of the n-gram models, with which the network is compared. On a warm
    start, the prior of the network's scale is centred on the scale of the earlier fit.
    """
    prior = OF_WORDS if fit.sentences is None else NEXT_TO_VECTORS
    if teacher is not None:
        prior = PRETRAINED
    if fit.warm_start_from is not None and len(fit.warm_start_from.pool.parts) > 1:
        earlier = float(np.max(fit.warm_start_from.pool.scales[NETWORK]))
        prior = prior._replace(median=max(earlier, _SMALLEST_SCALE))
    part = TrainedNetwork(_train(fit, teacher, ngrams))
    pool = Pool(fit.target, {NETWORK: part}, {NETWORK: 1.0})
    return FittedNetwork(pool, NETWORK, HeldOutLogits.from_pool(pool, fit.validation), prior)


def _train(fit: FitState, teacher: Pool | None, ngrams: HeldOutLogits | None) -> Net:
    """Train a new network, after word vectors and pre-training, or continue an earlier one."""
    params = fit.params
    frozen = epochs_frozen(params.freeze_embedding)
    first, second = _cycles(fit, teacher, ngrams)
    # This is a stage of its own, since PyTorch's own optimizers import its compiler.
    with fit.stages("set-up"):
        net = _new_net(
            fit,
            max_epochs=first,
            lr=params.lr if teacher is None else params.lr * _FINE_TUNING_LR,
            noise=float(params.adversarial_noise),
            frozen_epochs=frozen - len(fit.earlier_history),
            learnt_loss=_learnt_loss(fit),
            callbacks=_stop_in_time(fit, params.callbacks),
        )
    if fit.warm_start_from is not None:
        # A warm start restarts the schedule of the learning rate, so the moments of the optimizer
        # are kept by `partial_fit` alone. Copied estimators have none.
        net.continue_from(fit.warm_start_from.pool.network.net, with_moments=fit.is_partial)
    else:
        with fit.stages("word vectors"):
            vectors = initial_vectors(
                params.embedding_init,
                *fit.text,
                None if fit.tokenizer is None else fit.tokenizer.vocabulary_,
                (fit.vocabulary_size, params.embedding_dim),
                fit.rng,
            )
            if vectors is not None:
                net.module_.start_from(torch.from_numpy(vectors))
    if teacher is not None:
        with fit.stages("pre-training"):
            _pretrain(net, fit, teacher)
    with fit.stages("network"):
        _set_limit(net, fit, _OF_THE_REST)
        more = partial(_second_cycle_length, fit, ngrams, second)
        return net.train(
            _for_network(fit.training_data, fit), _for_network(fit.validation, fit), more
        )


def _for_network(data: LabelledDocuments | None, fit: FitState) -> LabelledDocuments | None:
    """Return documents with targets in the form that the loss of the network takes."""
    return data and replace(data, targets=fit.target.network_targets(data.targets))


def _second_cycle_length(
    fit: FitState, ngrams: HeldOutLogits | None, n_epochs: int, net: Net
) -> int:
    """Return the number of epochs of the second cycle, or 0 if it does not pay or may not follow.

    A network that is better than the n-grams has classes that depend on the order of words, and
    gains from more epochs. A network that is not better does not gain.
    """
    if n_epochs == 0 or fit.validation is None or ngrams is None:
        return 0
    data = fit.validation[ngrams.rows]
    scored = data.targets, data.weights
    pair = ngrams.logits, TrainedNetwork(net).logits(data.documents)
    scaled = [fit_scales(fit.target, [z], *scored, np.ones(1)) * z for z in pair]
    gains = np.subtract(*(fit.target.loss(z, *scored)[0] for z in scaled))
    # If the expected gain is 0, the norm of the gains is the standard error of their sum.
    is_better = gains.sum() > _BETTER * np.linalg.norm(gains)
    if not is_better and net.history[-1, "train_loss"] <= _UNLEARNT / _LEARNT * _learnt_loss(fit):
        return 0
    why = "is better than the n-grams" if is_better else "has learnt little so far"
    if fit.stages.limit < math.inf:
        n_affordable = int(fit.stages.left / np.mean(net.history[:, "dur"]))
        if n_affordable < n_epochs / 2:
            fit.stages.cuts.append("a second cycle of epochs")
            return 0
        n_epochs = min(n_epochs, n_affordable)
    tell(f"The network {why}: {n_epochs} epochs more", quiet=not fit.params.verbose)
    return n_epochs


def _stop_in_time(fit: FitState, callbacks: list[Any] | None) -> list[Any] | None:
    """Add a callback that stops training, if the time of the fit is limited."""
    limit = fit.stages.limit
    return callbacks if limit == math.inf else [*(callbacks or ()), (_LIMIT, StopAfter(limit))]


def _set_limit(net: Net, fit: FitState, share: float) -> None:
    """Let a net train for a share of the time that is left, if it is limited."""
    for name, callback in net.callbacks_:
        if name == _LIMIT:
            callback.seconds = max(share * fit.stages.left, _SHORTEST)


def _learnt_loss(fit: FitState) -> float:
    """Return the training loss at which training stops, or 0 to train all epochs."""
    if fit.params.max_epochs != "auto" or fit.has_own_loss:
        return 0.0
    data = fit.training_data
    return _LEARNT * fit.target.prior_loss(data.targets, data.weights)


def _cycles(fit: FitState, teacher: Pool | None, ngrams: HeldOutLogits | None) -> tuple[int, int]:
    """Return the numbers of epochs of the first cycle, and of the second one, if it may follow."""
    params, n_documents = fit.params, len(fit.training)
    batch_size = batch_size_for(params.batch_size, n_documents)
    n = epochs_for(1 if fit.is_partial else params.max_epochs, n_documents, batch_size)
    if teacher is not None and params.max_epochs == "auto":
        return math.ceil(n * _FINE_TUNING_EPOCHS), 0
    is_default = _learnt_loss(fit) and params.lr_schedule == "one_cycle" and not params.callbacks
    is_comparable = fit.warm_start_from is None and ngrams is not None and len(ngrams.rows) > 0
    if not is_default or not is_comparable:
        return n, 0
    short = max(round(_SHORT * n), 2)
    if batch_size <= 16 and 3 * short <= _MOST_EPOCHS:
        return short, 2 * short
    return n, n if 2 * n <= _MOST_EPOCHS else 0


def _new_net(fit: FitState, **changes: Any) -> Net:
    """Create a net with initial weights, which minimizes the loss of the target.

    `changes` are arguments of `new_net` that differ from training on labelled documents. A loss in
    `net_params` replaces that of the target.
    """
    params = fit.params
    network = fit.network_options.get_params(deep=False)
    # This option comes from net_params.
    del network["embedding_dropout"]
    training = {
        "n_documents": len(fit.training),
        "batch_size": batch_size_for(params.batch_size, len(fit.training)),
        "lr_schedule": "constant" if fit.is_partial else params.lr_schedule,
        "keep_best": fit.validation is not None,
        "n_iter_no_change": params.n_iter_no_change,
        "callbacks": params.callbacks,
    } | changes
    if "random_state" not in training:
        warm = fit.warm_start_from is not None
        training["random_state"] = _warm_start_rng(fit) if warm else fit.rng
    return new_net(
        {
            **network,
            "n_classes": fit.n_classes,
            "vocabulary_size": fit.vocabulary_size,
            "unknown_id": UNKNOWN_ID,
        },
        make_net=document_net,
        loss={
            "criterion": fit.target.criterion(),
            "measures": {fit.target.measure: fit.target.epoch_accuracy},
            "decide": fit.target.decide,
            "predict_nonlinearity": "auto" if fit.target.has_one_label else torch.sigmoid,
        },
        optimizer=params.optimizer,
        net_params=params.net_params,
        verbose=params.verbose,
        device=fit.device,
        **training,
    )


def _warm_start_rng(fit: FitState) -> np.random.RandomState:
    """Create a generator whose dropout differs from that of earlier fits, but not between copies.

    Many short fits with equal noise would memorize it. The epochs so far change the seed of
    `partial_fit`. A warm start does not count earlier epochs, so its seed depends on the weights.
    """
    assert fit.warm_start_from is not None
    seeds = [fit.rng.randint(2**31 - 1, size=fit.warm_start_from.n_iter + 1)[-1]]
    if not fit.is_partial:
        weights = fit.warm_start_from.pool.network.net.weights
        seeds += [zlib.crc32(weights[name].tobytes()) for name in sorted(weights)]
    return np.random.RandomState(seeds)


def _pretrain(net: Net, fit: FitState, teacher: Pool) -> None:
    """Train a network to predict from half of a document what the teacher does from the other.

    The labels of held-out documents are not used: only the teacher labels them.
    """
    # With a copy, the fit draws the same numbers whether it pre-trains or not.
    own_rng = copy.deepcopy(fit.rng)
    text, weights = fit.text
    rows = sample_to_pretrain(text, own_rng)
    labels = np.full((len(text), fit.n_classes), np.nan, dtype=np.float32)
    labels[fit.training] = fit.target.soft(fit.labelled.targets[fit.training])
    soft = labelled_by_other_half(
        text[rows],
        lambda half: fit.target.probabilities(teacher.logits(half)),
        labels=labels[rows],
        weights=weights[rows],
    )
    batch_size = PRETRAINING_BATCH_SIZE
    pretrained = _new_net(
        fit,
        n_documents=len(soft),
        max_epochs=epochs_for_steps(PRETRAINING_STEPS, len(soft), batch_size, least=1, most=20),
        batch_size=batch_size,
        lr=fit.params.lr,
        lr_schedule="one_cycle",
        frozen_epochs=epochs_frozen(fit.params.freeze_embedding),
        keep_best=False,
        n_iter_no_change=None,
        callbacks=_stop_in_time(fit, None),
        random_state=own_rng,
    )
    pretrained.continue_from(net, with_moments=False)
    _set_limit(pretrained, fit, _OF_PRETRAINING)
    pretrained.train(soft, None)
    if pretrained.ended_by == StopAfter.reason:
        fit.stages.cuts.append("steps of pre-training")
    net.continue_from(pretrained, with_moments=False)
