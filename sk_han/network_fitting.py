"""The network of one fit of a HANClassifier: how it learns from words or from sentence vectors."""

from __future__ import annotations

import copy
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.checkpoints.fit_checkpoints import FitCheckpoints
from sk_han.documents import UNKNOWN_ID
from sk_han.embeddings.initial import initial_vectors
from sk_han.fit_data import FitData, network_options
from sk_han.parts.calibration import (
    PRETRAINED_SCALES,
    SENTENCE_SCALES,
    SENTENCE_SPREADS,
    SPREADS,
    USUAL_SCALES,
)
from sk_han.parts.ngrams.latent import LatentSpace
from sk_han.parts.ngrams.stacking import LinearParts, fit_linear_parts
from sk_han.sentence_vectors.training import trained_sentence_net
from sk_han.training.builder import batch_size_for, epochs_for, new_net
from sk_han.training.callbacks.freezing import epochs_frozen
from sk_han.training.callbacks.sklearn_callbacks import FitTasks
from sk_han.training.data_parallel import Ranks
from sk_han.training.net import Net
from sk_han.training.pretraining import (
    PRETRAINING_BATCH_SIZE,
    SoftlyLabelledDocuments,
    halves,
    labelled_by_other_half,
    pretraining_epochs,
    sample_to_pretrain,
    take_weights,
)
from sk_han.utils.softmax import softmax
from sk_han.utils.stages import Stages

if TYPE_CHECKING:
    from sk_han.classifier import HANClassifier

__all__ = ["Fit", "TrainedNetwork", "network_training"]

# With 3,000 tweets without labels a pre-trained network was no better, with 8,000 messages of
# newsgroups 2.6 points (docs/benchmarks.md).
_ENOUGH_TO_PRETRAIN = 5_000
_FINE_TUNING_EPOCHS, _FINE_TUNING_LR = 1 / 2, 1 / 3  # of those without pre-training
_SENTENCES_LR = 1 / 6  # of that for words: training begins at a logistic regression


@dataclass(frozen=True)
class Fit:
    """What a fit knows before its network learns.

    Attributes
    ----------
    classifier : HANClassifier
        Its parameters are used, and, with `resume`, its fitted attributes.
    given : FitData
    ngram_range : tuple of int or None
        Of the linear models; None for none of them.
    space : LatentSpace or None
        Of the text without labels.
    resume : bool
        Whether to start from the fitted weights.
    one_epoch : bool
        Whether to train one epoch at the constant learning rate, on all documents.
    device : str
    rng : RandomState
    checkpoints : FitCheckpoints
    ranks : Ranks or None
        The processes that train the network together.
    stages : Stages
        What measures the time.
    """

    classifier: HANClassifier
    given: FitData
    ngram_range: tuple[int, int] | None
    space: LatentSpace | None
    resume: bool
    one_epoch: bool
    device: str
    rng: np.random.RandomState
    checkpoints: FitCheckpoints
    ranks: Ranks | None
    stages: Stages

    @property
    def learns_on(self) -> bool:
        """Whether this is another portion of what was learnt before."""
        return self.resume and self.one_epoch

    @property
    def own_loss(self) -> bool:
        """Whether the user's loss is minimized, which may take no probabilities."""
        return "criterion" in (self.classifier.net_params or {})

    @property
    def batch_size(self) -> int:
        """Number of documents a step."""
        return batch_size_for(self.classifier.batch_size, len(self.given.training))

    @property
    def n_epochs(self) -> int:
        """Number of epochs of a network that nothing has taught before."""
        epochs = 1 if self.one_epoch else self.classifier.max_epochs
        return epochs_for(epochs, len(self.given.training), self.batch_size)


class TrainedNetwork(NamedTuple):
    """A network that has learnt, and how it counts beside linear models.

    Attributes
    ----------
    net : Net
    tasks : FitTasks
        The task of the fit, which has begun.
    usual_scales, spreads : tuple of float
        As of `fit_scales_near`.
    """

    net: Net
    tasks: FitTasks
    usual_scales: tuple[float, float]
    spreads: tuple[float, float]


_BeginTasks = Callable[[int], FitTasks]  # takes the number of epochs
_Training = Callable[[Fit, _BeginTasks], TrainedNetwork]


def network_training(given: FitData, *, alone: bool) -> _Training:
    """Choose how the network learns, by what its documents hold.

    Parameters
    ----------
    given : FitData
    alone : bool
        Whether a single process trains, and without checkpoints.

    Returns
    -------
    callable
        Takes a `Fit` and what begins its tasks; returns a `TrainedNetwork`.

    Raises
    ------
    ValueError
        If sentence vectors are not to be learnt from alone.
    """
    if given.sentences is None:
        return _trained_on_words
    if not alone:
        raise ValueError(
            "Training on sentence vectors is done by a single process and without checkpoints: it "
            "takes seconds for thousands of documents. Leave checkpoint or torch.distributed out; "
            "SentenceEmbedder(memory=...) keeps what took long, the vectors."
        )
    return _trained_on_sentences


def _trained_on_words(fit: Fit, begin_tasks: _BeginTasks) -> TrainedNetwork:
    """Train on word ids: from the vectors of words, and from what text without labels taught."""
    classifier, given = fit.classifier, fit.given
    teacher = _teacher(fit)
    n_epochs, lr = fit.n_epochs, classifier.lr
    if teacher is not None:
        lr *= _FINE_TUNING_LR
        if classifier.max_epochs == "auto":
            n_epochs = math.ceil(n_epochs * _FINE_TUNING_EPOCHS)
    tasks = begin_tasks(n_epochs)
    epochs_before = len(classifier.history_) if fit.learns_on else 0
    new = _net_maker(fit, vocabulary_size=given.vocabulary_size, unknown_id=UNKNOWN_ID)
    with fit.stages("set-up"):  # the first optimizer of a process loads PyTorch's compiler
        net = new(
            **_main_training(fit, n_epochs),
            lr=lr,
            noise=float(classifier.adversarial_noise),
            frozen_epochs=epochs_frozen(classifier.freeze_embedding) - epochs_before,
            fit_tasks=tasks,
        )
    if fit.resume:
        # A schedule from its beginning needs no moments, and copies of the classifier have none.
        net.continue_from(classifier.net_, with_moments=fit.one_epoch)
    else:
        with fit.stages("word vectors"):
            _set_initial_vectors(net, fit)
    if teacher is not None and not fit.checkpoints.has_passed("pretraining"):
        with fit.stages("pre-training", tells=False):
            _pretrain(net, fit, teacher, new)
    with fit.stages("network", tells=False):
        net.train(given.training_data, given.validation, fit.ranks)
    usual_scales = USUAL_SCALES if teacher is None else PRETRAINED_SCALES
    return TrainedNetwork(net, tasks, usual_scales, SPREADS)


def _trained_on_sentences(fit: Fit, begin_tasks: _BeginTasks) -> TrainedNetwork:
    """Train on sentence vectors: from a logistic regression, with or without their order."""
    assert fit.given.sentences is not None
    tasks = begin_tasks(fit.n_epochs)
    with fit.stages("network", tells=False):
        net = trained_sentence_net(
            partial(
                _net_maker(fit, input_size=fit.given.sentences.dimension),
                **_main_training(fit, fit.n_epochs),
                lr=fit.classifier.lr * _SENTENCES_LR,
                noise=0.0,
                frozen_epochs=0,
            ),
            fit.given.training_data,
            fit.given.validation,
            fit_tasks=tasks,
            before=fit.classifier.net_ if fit.resume else None,
            with_moments=fit.one_epoch,
        )
    return TrainedNetwork(net, tasks, SENTENCE_SCALES, SENTENCE_SPREADS)


def _net_maker(fit: Fit, **inputs: int) -> Callable[..., Net]:
    """Return `new_net` with what all nets of a fit share.

    Parameters
    ----------
    fit : Fit
    **inputs : int
        Arguments of the network that say what it reads.
    """
    classifier = fit.classifier
    network = network_options(classifier).get_params(deep=False)
    del network["embedding_dropout"]  # net_params may have it
    return partial(
        new_net,
        {**network, "n_classes": fit.given.n_classes, **inputs},
        optimizer=classifier.optimizer,
        weight_averaging=classifier.weight_averaging,
        net_params=classifier.net_params,
        verbose=fit.stages.verbose,
        device=fit.device,
        random_state=_going_on(fit) if fit.resume else fit.rng,
    )


def _main_training(fit: Fit, n_epochs: int) -> dict[str, Any]:
    """Return those arguments of `new_net` that the user's documents and parameters decide."""
    classifier = fit.classifier
    return {
        "n_documents": len(fit.given.training),
        "max_epochs": n_epochs,
        "batch_size": fit.batch_size,
        "lr_schedule": "constant" if fit.one_epoch else classifier.lr_schedule,
        "keep_best": fit.given.validation is not None,
        "n_iter_no_change": classifier.n_iter_no_change,
        "callbacks": classifier.callbacks,
        "checkpoints": fit.checkpoints.callback("training"),
    }


def _going_on(fit: Fit) -> np.random.RandomState:
    """Return a source of other noise than that of the fits before, the same in copies.

    Portions count their epochs. A warm start does not, so its noise depends on the weights: equal
    noise in each of many short fits would be learnt by heart.
    """
    seeds = [fit.rng.randint(2**31 - 1, size=fit.classifier.n_iter_ + 1)[-1]]
    if not fit.one_epoch:
        weights = fit.classifier.net_.weights
        seeds += [zlib.crc32(weights[name].tobytes()) for name in sorted(weights)]
    return np.random.RandomState(seeds)


def _set_initial_vectors(net: Net, fit: Fit) -> None:
    classifier, given = fit.classifier, fit.given
    text, weights = given.text
    vectors = initial_vectors(
        classifier.embedding_init,
        text,
        weights,
        None if given.tokenizer is None else given.tokenizer.vocabulary_,
        (given.vocabulary_size, classifier.embedding_dim),
        fit.rng,
    )
    if vectors is not None:
        net.set_embedding(vectors)


def _teacher(fit: Fit) -> LinearParts | None:
    """Fit the linear models that label text to pre-train the network on; None for too little."""
    given = fit.given
    if given.unlabelled is None or fit.ngram_range is None or given.n_classes == 1:
        return None
    if fit.resume or fit.one_epoch or fit.own_loss:
        return None
    if np.count_nonzero(given.unlabelled.words_per_document > 1) < _ENOUGH_TO_PRETRAIN:
        return None
    with fit.stages("teacher of pre-training"):
        teacher, _ = fit_linear_parts(
            given.training_data, given.n_classes, fit.ngram_range, fit.space, None, halves
        )
    return teacher if teacher.models else None


def _pretrain(net: Net, fit: Fit, teacher: LinearParts, new: Callable[..., Net]) -> None:
    """Let a network learn from one half of a document what the teacher says of the other half."""
    own_rng = copy.deepcopy(fit.rng)  # the user's is the same behind a fit that leaves this out
    rows = sample_to_pretrain(fit.given.text[0], own_rng)
    soft = _softly_labelled(fit.given, rows, teacher)
    pretrained = new(
        n_documents=len(soft),
        max_epochs=pretraining_epochs(len(soft), PRETRAINING_BATCH_SIZE),
        batch_size=PRETRAINING_BATCH_SIZE,
        lr=fit.classifier.lr,
        lr_schedule="one_cycle",
        noise=0.0,
        frozen_epochs=epochs_frozen(fit.classifier.freeze_embedding),
        keep_best=False,
        n_iter_no_change=None,
        callbacks=None,
        checkpoints=fit.checkpoints.callback("pretraining"),
        random_state=own_rng,
    )
    take_weights(pretrained, net)
    pretrained.train(soft, None, fit.ranks)
    take_weights(net, pretrained)


def _softly_labelled(
    given: FitData, rows: NDArray[np.int64], teacher: LinearParts
) -> SoftlyLabelledDocuments:
    """Label halves of some documents; held-out documents as if they had no label."""
    text, weights = given.text
    known = np.full(len(text), -1)
    known[given.training] = given.data.targets[given.training]
    return labelled_by_other_half(
        text[rows],
        lambda half: softmax(teacher.logits(half)),
        targets=known[rows],
        weights=weights[rows],
    )
