"""One fit of a HANClassifier: from the user's data to the fitted attributes."""

from __future__ import annotations

import copy
import math
import zlib
from functools import partial as with_arguments
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from sk_han.checkpoints.fingerprint import data_fingerprint, settings_fingerprint
from sk_han.checkpoints.fit_checkpoints import FitCheckpoints
from sk_han.documents import UNKNOWN_ID, DocumentArray, LabelledDocuments
from sk_han.embeddings.initial import initial_vectors
from sk_han.fit_data import FitData, fit_data, network_options
from sk_han.linear.calibration import (
    PRETRAINED_SCALES,
    SENTENCE_SCALES,
    SENTENCE_SPREADS,
    SPREADS,
    USUAL_SCALES,
    fit_scales,
    fit_scales_near,
)
from sk_han.linear.latent import LatentSpace, fit_latent_space
from sk_han.linear.memory import check_memory_of_linear_model
from sk_han.linear.parts import LinearParts, fit_linear_parts, partial_fit_linear_parts
from sk_han.training.builder import batch_size_for, epochs_for, new_net
from sk_han.training.callbacks.freezing import epochs_frozen
from sk_han.training.callbacks.sklearn_callbacks import FitTasks
from sk_han.training.data_parallel import Ranks, next_number, with_ranks
from sk_han.training.devices import resolve_device
from sk_han.training.history import best_of, plain_history
from sk_han.training.net import Net
from sk_han.training.outcome import warn_if_nothing_learnt
from sk_han.training.pretraining import (
    PRETRAINING_BATCH_SIZE,
    SoftlyLabelledDocuments,
    halves,
    labelled_by_other_half,
    pretraining_epochs,
    sample_to_pretrain,
    take_weights,
)
from sk_han.training.sentences import trained_sentence_net
from sk_han.utils.softmax import softmax

if TYPE_CHECKING:
    from sk_han.classifier import HANClassifier

__all__ = ["fitted_attributes", "linear_parts_of"]

# With 3,000 tweets without labels a pre-trained network was no better, with 8,000 messages of
# newsgroups 2.6 points (docs/benchmarks.md).
_ENOUGH_TO_PRETRAIN = 5_000
# Of processes that train together.
_RANKS_MAY_DIFFER = {
    "callbacks",
    "device",
    "engine",
    "n_threads",
    "the device",
    "the engine",
    "tokenizer__n_jobs",
}
_FINE_TUNING_EPOCHS, _FINE_TUNING_LR = 1 / 2, 1 / 3  # of those without pre-training
_SENTENCES_LR = 1 / 6  # of that for words: training begins at a logistic regression


@torch.inference_mode(mode=False)  # training needs gradients even inside the caller's mode
@with_ranks
def fitted_attributes(
    classifier: HANClassifier,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    X_unlabelled: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    checkpoint: Any = None,
    *,
    classes: Any = None,
    resume: bool,
    one_epoch: bool = False,
    ranks: Ranks | None = None,
) -> dict[str, Any]:
    """Train a network and fit the linear models; the classifier itself does not change.

    Parameters
    ----------
    classifier : HANClassifier
        Its parameters are used, and, with `resume`, its fitted attributes.
    X, y, sample_weight, X_unlabelled, X_val, y_val, checkpoint, classes
        As of `HANClassifier.fit` and `HANClassifier.partial_fit`.
    resume : bool
        Whether to start from the fitted weights.
    one_epoch : bool
        Whether to train one epoch at the constant learning rate, on all documents.
    ranks : Ranks or None
        The processes that train the network together; passed by `with_ranks`.

    Returns
    -------
    dict of str to object
        The fitted attributes; on a rank but the first only why there are none.
    """
    if ranks is not None and one_epoch:
        raise ValueError(
            "partial_fit learns in a single process, and this one belongs to a group of "
            f"{ranks.size}. Call fit, or torch.distributed.destroy_process_group() before it."
        )
    device = resolve_device(classifier.device)
    checkpoints = FitCheckpoints(checkpoint, writes=ranks is None or ranks.is_first)
    checkpoints.check(settings_fingerprint, classifier, device, resume)
    seed = classifier.random_state if ranks is None else ranks.seed(classifier.random_state)
    rng = checkpoints.random_state(
        check_random_state(seed), own=classifier.random_state is not None
    )
    given = fit_data(
        classifier,
        X,
        y,
        sample_weight=sample_weight,
        X_val=X_val,
        y_val=y_val,
        X_unlabelled=X_unlabelled,
        classes=classes,
        resume=resume,
        holds_out=not one_epoch,
        random_state=rng,
    )
    sentences = given.sentences
    if sentences is not None and (ranks is not None or checkpoint is not None):
        raise ValueError(
            "Training on sentence vectors is done by a single process and without checkpoints: it "
            "takes seconds for thousands of documents. Leave checkpoint or torch.distributed out; "
            "SentenceEmbedder(memory=...) keeps what took long, the vectors."
        )
    checkpoints.check(data_fingerprint, given)
    training, validation = given.data[given.training], given.validation
    if ranks is not None:
        settings = settings_fingerprint(classifier, device, resume)
        facts: dict[str, Any] = {
            "random_state": next_number(rng),
            "a fitted model to go on from": resume,
            **data_fingerprint(given),
        }
        same = {name: v for name, v in settings.items() if name not in _RANKS_MAY_DIFFER}
        ranks.check_same(same | facts)
    text, text_weights = given.text()
    ngram_range = _ngram_range(classifier)
    if ngram_range is not None:  # before training, which may take long
        check_memory_of_linear_model(
            given.data.documents,
            given.n_classes,
            ngram_range,
            before=classifier.ngram_model_ if resume and one_epoch else None,
            in_portions=one_epoch,
        )
    space, teacher = None, LinearParts()
    own_loss = "criterion" in (classifier.net_params or {})  # it may take no probabilities
    if given.unlabelled is not None and ngram_range is not None and given.n_classes > 1:
        space = fit_latent_space(text, ngram_range, rng)
        n_halved = np.count_nonzero(given.unlabelled.words_per_document > 1)
        if (
            sentences is None
            and not (resume or one_epoch or own_loss)
            and n_halved >= _ENOUGH_TO_PRETRAIN
        ):
            teacher, _ = fit_linear_parts(
                training, given.n_classes, ngram_range, space, None, halves
            )
    pretrains = bool(teacher.models)

    partial = resume and one_epoch
    fitted: dict[str, Any] = {
        "classes_": given.classes,
        "tokenizer_": given.tokenizer,
        "device_": device,
        "vocabulary_size_": given.vocabulary_size,
        "encoder_": None if sentences is None else sentences.encoder,
    }
    fitted |= _linear_attributes(linear_parts_of(classifier) if partial else LinearParts())
    fitted["network_scale_"] = classifier.network_scale_ if partial else 1.0
    batch_size = batch_size_for(classifier.batch_size, len(training))
    n_epochs = epochs_for(1 if one_epoch else classifier.max_epochs, len(training), batch_size)
    if pretrains and classifier.max_epochs == "auto":
        n_epochs = math.ceil(n_epochs * _FINE_TUNING_EPOCHS)
    tasks = FitTasks(classifier, given.documents, given.labels, sample_weight, n_epochs, fitted)
    epochs_before = classifier.history_ if partial else []
    network = network_options(classifier).get_params(deep=False)
    del network["embedding_dropout"]  # net_params may have it
    network |= {"n_classes": given.n_classes}
    if sentences is None:
        network |= {"vocabulary_size": given.vocabulary_size, "unknown_id": UNKNOWN_ID}
    else:
        network |= {"input_size": sentences.dimension}
    new = with_arguments(
        new_net,
        network,
        optimizer=classifier.optimizer,
        weight_averaging=classifier.weight_averaging,
        net_params=classifier.net_params,
        verbose=classifier.verbose if ranks is None or ranks.is_first else 0,
        device=device,
        random_state=_going_on(rng, classifier, one_epoch) if resume else rng,
    )
    frozen_epochs = epochs_frozen(classifier.freeze_embedding)
    new_main = with_arguments(
        new,
        n_documents=len(training),
        max_epochs=n_epochs,
        batch_size=batch_size,
        lr_schedule="constant" if one_epoch else classifier.lr_schedule,
        keep_best=validation is not None,
        n_iter_no_change=classifier.n_iter_no_change,
        callbacks=classifier.callbacks,
        checkpoints=checkpoints.callback("training"),
    )
    if sentences is not None:
        net = trained_sentence_net(
            with_arguments(new_main, lr=classifier.lr * _SENTENCES_LR, noise=0.0, frozen_epochs=0),
            training,
            validation,
            fit_tasks=tasks,
            before=classifier.net_ if resume else None,
            with_moments=one_epoch,
        )
    else:
        net = new_main(
            lr=classifier.lr * (_FINE_TUNING_LR if pretrains else 1),
            noise=float(classifier.adversarial_noise),
            frozen_epochs=frozen_epochs - len(epochs_before),
            fit_tasks=tasks,
        )
    if resume and sentences is None:
        # A schedule from its beginning needs none, and copies of the classifier have none.
        net.continue_from(classifier.net_, with_moments=one_epoch)
    elif sentences is None:
        vectors = initial_vectors(
            classifier.embedding_init,
            text,
            text_weights,
            None if given.tokenizer is None else given.tokenizer.vocabulary_,
            (given.vocabulary_size, classifier.embedding_dim),
            rng,
        )
        if vectors is not None:
            net.set_embedding(vectors)
    if pretrains and not checkpoints.has_passed("pretraining"):
        own_rng = copy.deepcopy(rng)  # the user's is the same behind a fit that leaves this out
        rows = sample_to_pretrain(text, own_rng)
        soft = _softly_labelled(text, text_weights, rows, given, teacher)
        pretrained = new(
            n_documents=len(soft),
            max_epochs=pretraining_epochs(len(soft), PRETRAINING_BATCH_SIZE),
            batch_size=PRETRAINING_BATCH_SIZE,
            lr=classifier.lr,
            lr_schedule="one_cycle",
            noise=0.0,
            frozen_epochs=frozen_epochs,
            keep_best=False,
            n_iter_no_change=None,
            callbacks=None,
            fit_tasks=None,
            checkpoints=checkpoints.callback("pretraining"),
            random_state=own_rng,
        )
        take_weights(pretrained, net)
        pretrained.train(soft, None, ranks)
        take_weights(net, pretrained)
    if sentences is None:
        net.train(training, validation, ranks)
    if ranks is not None:
        ranks.dismiss()
        if not ranks.is_first:
            tasks.end(fitted)
            return {"_rank": f"rank {ranks.rank} of {ranks.size}"}
    if not one_epoch and not own_loss:  # a portion may have other class frequencies
        warn_if_nothing_learnt(net, training, classifier.lr)

    before = linear_parts_of(classifier) if resume else LinearParts()
    keep_scales = resume and given.given_validation is None
    scored = None
    if one_epoch:
        parts = partial_fit_linear_parts(
            before, given.data, given.n_classes, ngram_range, space, begin=not resume
        )
    else:
        parts, scored = _linear_parts(given, ngram_range, space, before)
    if keep_scales and parts.kinds == before.kinds and space is None:
        parts = parts.with_scales_of(before)
        fitted["network_scale_"] = classifier.network_scale_
    else:
        unseen = None if keep_scales or given.n_classes == 1 else validation
        usual, spreads = PRETRAINED_SCALES if pretrains else USUAL_SCALES, SPREADS
        if sentences is not None:
            usual, spreads = SENTENCE_SCALES, SENTENCE_SPREADS
        if resume and before.models:
            # The network goes on; linear models that stay have their factor in their scales.
            stays = parts.latent_model is not None and space is None
            usual = max(classifier.network_scale_, 0.01), 1.0 if stays else usual[1]
        scales = _scales(net, parts, scored, unseen, usual, spreads)
        parts = parts.times(scales[-1])
        fitted["network_scale_"] = float(scales[0])
    fitted |= _linear_attributes(parts)
    history = epochs_before + plain_history(net, first_epoch=len(epochs_before) + 1)
    fitted |= {"net_": net, "history_": history, "n_iter_": len(history)}
    fitted |= best_of(net)
    tasks.end(fitted)
    checkpoints.end()
    return fitted


def _softly_labelled(
    text: DocumentArray,
    weights: NDArray[np.float64],
    rows: NDArray[np.int64],
    given: FitData,
    teacher: LinearParts,
) -> SoftlyLabelledDocuments:
    """Label halves of some documents; held-out documents as if they had no label."""
    known = np.full(len(text), -1)
    known[given.training] = given.data.targets[given.training]
    return labelled_by_other_half(
        text[rows],
        lambda half: softmax(teacher.logits(half)),
        targets=known[rows],
        weights=weights[rows],
    )


def _going_on(
    rng: np.random.RandomState, classifier: HANClassifier, one_epoch: bool
) -> np.random.RandomState:
    """Return a source of other noise than that of the fits before, the same in copies.

    Portions count their epochs. A warm start does not, so its noise depends on the weights: equal
    noise in each of many short fits would be learnt by heart.
    """
    seeds = [rng.randint(2**31 - 1, size=classifier.n_iter_ + 1)[-1]]
    if not one_epoch:
        weights = classifier.net_.weights
        seeds += [zlib.crc32(weights[name].tobytes()) for name in sorted(weights)]
    return np.random.RandomState(seeds)


def _ngram_range(classifier: HANClassifier) -> tuple[int, int] | None:
    if classifier.linear_ngrams is None:
        return None
    smallest, largest = classifier.linear_ngrams
    return int(smallest), int(largest)  # a search passes NumPy integers


def _linear_parts(
    given: FitData,
    ngram_range: tuple[int, int] | None,
    space: LatentSpace | None,
    before: LinearParts,
) -> tuple[LinearParts, NDArray[np.float64] | None]:
    """Fit the linear models, and score the held-out documents by models that do not know them."""
    if ngram_range is None:
        return LinearParts(), None
    held_out = given.held_out
    parts, scored = fit_linear_parts(given.data, given.n_classes, ngram_range, space, held_out)
    if space is None and before.latent_model is not None:
        # There is no text to learn another latent model from: that of the earlier fit stays.
        return parts.with_latent_model_of(before), None
    return parts, scored


def _scales(
    net: Net,
    parts: LinearParts,
    scored: NDArray[np.float64] | None,
    validation: LabelledDocuments | None,
    usual_scales: tuple[float, float],
    spreads: tuple[float, float],
) -> NDArray[np.float64]:
    """Fit the scales of the network, and of the sum of the linear models if there are any.

    They are trained separately: a linear model separates its training documents, so a network
    trained together with it has little left to learn. Training on the residual of cross-fitted
    logits of the linear model was not better (docs/benchmarks.md). What linear models count among
    each other is fitted before, on many documents.

    Parameters
    ----------
    scored : ndarray of shape (D, C) or None
        Logits of the validation documents from linear models that have not learnt from them; None
        if `parts` have not. Rows of NaN are left out.
    validation : LabelledDocuments or None
        Documents that the network has not learnt from.
    """
    usual = np.array(usual_scales if parts.models else [1.0])
    if validation is None:
        return usual
    if not parts.models:
        alone = net.logits(validation.documents).astype(np.float64)
        return fit_scales([alone], validation.targets, validation.weights, usual)
    linear = parts.logits(validation.documents) if scored is None else scored
    known = ~np.isnan(linear[:, 0])
    if not known.any():
        return usual
    documents, targets, weights = (
        validation.documents[known],
        validation.targets[known],
        validation.weights[known],
    )
    logits = [net.logits(documents).astype(np.float64), linear[known]]
    return fit_scales_near(logits, targets, weights, usual, np.array(spreads))


def linear_parts_of(classifier: HANClassifier) -> LinearParts:
    """Return the linear models of a fitted classifier."""
    return LinearParts(
        classifier.ngram_model_,
        classifier.latent_model_,
        classifier.ngram_scale_,
        classifier.latent_scale_,
    )


def _linear_attributes(parts: LinearParts) -> dict[str, Any]:
    return {f"{name}_": value for name, value in parts._asdict().items()}
