"""The learners of the network: from words, or from sentence vectors."""

from __future__ import annotations

import copy
import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, LabelledDocuments
from sk_han.embeddings.initial import initial_vectors
from sk_han.fitting.context import FitContext
from sk_han.fitting.data import FitData
from sk_han.fitting.learner import Fitted, Learner, ScalePrior
from sk_han.parts import Pool
from sk_han.parts.pool import NETWORK, WORDS, Scale
from sk_han.parts.trained_network import TrainedNetwork
from sk_han.sentence_vectors.training import (
    TrainedSentenceNetwork,
    sentence_net,
    trained_sentence_net,
)
from sk_han.training.builder import (
    batch_size_for,
    document_net,
    epochs_for,
    epochs_frozen,
    epochs_of,
    new_net,
)
from sk_han.training.callbacks import StopOnInterrupt, stops_for_a_person
from sk_han.training.history import plain_history
from sk_han.training.net import Net, copied_net
from sk_han.training.pretraining import (
    PRETRAINING_BATCH_SIZE,
    PRETRAINING_STEPS,
    labelled_by_other_half,
    sample_to_pretrain,
)

# Scales of the network and of the linear models' sum if no documents were held out: the logits of
# a network are overconfident. And by what factor, as a standard deviation of the logarithm, they
# differ between collections. Of six corpora and 300 to 5,000 documents (docs/what_was_tried.md).
OF_WORDS = ScalePrior(0.12, 0.6), ScalePrior(0.8, 0.15)
# A network that text without labels has taught counts more beside the linear models. Of four
# corpora and 500 and 1,000 documents.
PRETRAINED = ScalePrior(0.35, 0.6), ScalePrior(0.5, 0.15)
# A network over sentence vectors begins as a convex model and is calibrated as one. Of 100, 300 and
# 700 training documents of IMDB and of 20 newsgroups, the scales that were best for the others of
# 1,000: 0.5 to 1.8, and 0 to 0.6.
OF_SENTENCES = ScalePrior(0.85, 0.3), ScalePrior(0.35, 0.6)

_FINE_TUNING_EPOCHS, _FINE_TUNING_LR = 1 / 2, 1 / 3  # of those without pre-training
_SENTENCES_LR = 1 / 6  # of that for words: training begins at a logistic regression
_SMALLEST_SCALE = 0.01  # from which a scale of an earlier fit goes on

# What summaries call the networks.
_TITLES = {NETWORK: NETWORK, WORDS: "network of words"}


class NetworkLearner(Learner):
    """A network that learns from labelled documents, and perhaps from a teacher before."""

    part = TrainedNetwork

    @classmethod
    def of(cls, data: FitData, context: FitContext) -> NetworkLearner:
        """Return the learner by what the documents hold."""
        if data.sentences is None:
            return cls()
        return _SentencesLearner()

    def fit(self, data: FitData, context: FitContext, teacher: Pool | None) -> Fitted:
        """Train on word ids: from the vectors of words, and from what a teacher says of text."""
        _begin_task(self.part, data, context, teacher)
        net = _trained_on_words(data, context, teacher, NETWORK)
        own, beside = OF_WORDS if teacher is None else PRETRAINED
        return _fitted(self.part(net), data, context, NETWORK, own, beside)


class _SentencesLearner(NetworkLearner):
    """A network over sentence vectors, which begins as a logistic regression on their means."""

    part = TrainedSentenceNetwork

    def fit(self, data: FitData, context: FitContext, teacher: Pool | None) -> Fitted:
        """Train with the order of sentences and without it; held-out documents choose."""
        assert data.sentences is not None
        dimension = data.sentences.dimension
        _begin_task(self.part, data, context, None)
        with context.stages("network", has_bar=True):
            net = trained_sentence_net(
                lambda recurrent, is_last: _new_net(
                    data,
                    context,
                    sentence_net,
                    {"input_size": dimension, "recurrent": recurrent},
                    **_main_training(data, context, None),
                    lr=context.settings.lr * _SENTENCES_LR,
                    fit_tasks=context.task if is_last else None,
                ),
                data.training_data,
                data.validation,
                data.target,
                before=None if context.before is None else context.before.pool.network.net,
                with_moments=context.is_portion,
            )
        context.is_stopped = net.ended_by is not None
        return _fitted(self.part(net), data, context, NETWORK, *OF_SENTENCES)


class WordsLearner(Learner):
    """A network over the words of documents whose sentences are vectors too, for another part."""

    @classmethod
    def of(cls, data: FitData, context: FitContext) -> WordsLearner | None:
        """Return the learner if the documents have vectors and words, or the model has it."""
        if context.before is None:
            return cls() if data.reads_words_beside_vectors else None
        return cls() if WORDS in context.before.pool.parts else None

    def fit(self, data: FitData, context: FitContext, teacher: Pool | None) -> Fitted:
        """Train as on documents of words alone, if there are any and time is left."""
        words, own = data.of_words(), (OF_WORDS if teacher is None else PRETRAINED)[0]
        if context.is_stopped or not data.reads_words_beside_vectors:
            if context.before is None:
                return Fitted(Pool(data.target, {}, {}), _TITLES[WORDS], None, is_network=True)
            part: Any = context.before.pool.parts[WORDS]
            return _fitted(part, words, context, WORDS, own)
        net = _trained_on_words(words, context, teacher, WORDS)
        return _fitted(TrainedNetwork(net), words, context, WORDS, own)


def _trained_on_words(data: FitData, context: FitContext, teacher: Pool | None, name: str) -> Net:
    """Train the network of that name in the pool: from word vectors, or from the net before."""
    settings = context.settings
    frozen = epochs_frozen(settings.freeze_embedding)
    with context.stages("set-up"):  # an optimizer of PyTorch's own loads its compiler
        net = _new_net(
            data,
            context,
            document_net,
            {"vocabulary_size": data.vocabulary_size, "unknown_id": UNKNOWN_ID},
            **_main_training(data, context, teacher),
            lr=settings.lr if teacher is None else settings.lr * _FINE_TUNING_LR,
            noise=float(settings.adversarial_noise),
            frozen_epochs=frozen - len(context.earlier_history),
            fit_tasks=context.task if name == NETWORK else None,
        )
    if context.before is not None:
        before: Any = context.before.pool.parts[name]
        # A schedule from its beginning needs no moments, and copies of an estimator have none.
        net.continue_from(before.net, with_moments=context.is_portion)
    else:
        with context.stages("word vectors"):
            _set_initial_vectors(net, data, context)
    if teacher is not None:
        with context.stages("pre-training", has_bar=True):
            _pretrain(net, data, context, teacher)
    with context.stages("network", has_bar=True):
        return net.train(data.training_data, data.validation)


def _fitted(
    part: TrainedNetwork,
    data: FitData,
    context: FitContext,
    name: str,
    own: ScalePrior,
    beside: ScalePrior | None = None,
) -> Fitted:
    if context.before is not None and len(context.before.pool.parts) > 1:
        earlier = context.before.pool.scales[name]
        own = own._replace(median=max(float(np.max(earlier)), _SMALLEST_SCALE))
    unseen = None if data.validation is None else part.logits(data.validation.documents)
    pool = Pool(data.target, {name: part}, {name: 1.0})
    return Fitted(pool, _TITLES[name], unseen, prior=own, beside=beside, is_network=True)


def _begin_task(
    part: type[TrainedNetwork], data: FitData, context: FitContext, teacher: Pool | None
) -> None:
    """Begin the task of the fit, which callbacks may ask for the model as it is now."""
    scale: Scale = 1.0
    others = Pool(data.target, {}, {})
    if context.before is not None and context.learns_on:
        scale, others = context.before.pool.scales[NETWORK], context.before.pool.others

    def fitted_so_far(net: Net) -> dict[str, Any]:
        network = Pool(data.target, {NETWORK: part(copied_net(net))}, {NETWORK: scale})
        pool, history = network.beside(others), plain_history(net)
        return data.model(pool, history, device=context.device).attributes()

    n_epochs = _n_epochs(data, context, teacher)
    context.task = context.begin_task(data.documents, data.labels, n_epochs, fitted_so_far)


def _n_epochs(data: FitData, context: FitContext, teacher: Pool | None) -> int:
    """Return the number of epochs of a network, fewer where a teacher has taught it before."""
    given = 1 if context.is_portion else context.settings.max_epochs
    n = epochs_for(given, len(data.training), _batch_size(data, context))
    return n if teacher is None or given != "auto" else math.ceil(n * _FINE_TUNING_EPOCHS)


def _batch_size(data: FitData, context: FitContext) -> int:
    return batch_size_for(context.settings.batch_size, len(data.training))


def _new_net(
    data: FitData,
    context: FitContext,
    make_net: Callable[..., Net],
    inputs: Mapping[str, Any],
    *,
    random_state: np.random.RandomState | None = None,
    **training: Any,
) -> Net:
    """Create a net with initial weights, which learns by the loss of the target.

    `inputs` are the arguments of the network that its input decides, `training` further ones of
    `new_net`. A loss in `net_params` replaces that of the target.
    """
    settings = context.settings
    network = settings.network_options.decided(data.target.attends_per_label).get_params(deep=False)
    del network["embedding_dropout"]  # net_params may have it
    if random_state is None:
        random_state = context.rng if context.before is None else _going_on(context)
    return new_net(
        {**network, "n_classes": data.n_classes, **inputs},
        make_net=make_net,
        loss={
            "criterion": data.target.criterion(),
            "measures": {"valid_accuracy": data.target.accuracy},
            "decide": data.target.decide,
        },
        optimizer=settings.optimizer,
        net_params=settings.net_params,
        verbose=settings.verbose,
        device=context.device,
        random_state=random_state,
        **training,
    )


def _main_training(data: FitData, context: FitContext, teacher: Pool | None) -> dict[str, Any]:
    """Return those arguments of `new_net` that the user's documents and parameters decide."""
    settings = context.settings
    return {
        "n_documents": len(data.training),
        "max_epochs": _n_epochs(data, context, teacher),
        "batch_size": _batch_size(data, context),
        "lr_schedule": "constant" if context.is_portion else settings.lr_schedule,
        "keep_best": data.validation is not None,
        "n_iter_no_change": settings.n_iter_no_change,
        "callbacks": _with_stop(settings.callbacks),
    }


def _with_stop(callbacks: list[Any] | None) -> list[Any] | None:
    """Let a person at a shell end a training, unless a callback of theirs does."""
    own = list(callbacks or ())
    if any(isinstance(each, StopOnInterrupt) for each in own) or not stops_for_a_person():
        return callbacks
    return [*own, StopOnInterrupt()]


def _going_on(context: FitContext) -> np.random.RandomState:
    """Return a source of other noise than that of the fits before, the same in copies.

    Portions count their epochs. A warm start does not, so its noise depends on the weights: equal
    noise in each of many short fits would be learnt by heart.
    """
    assert context.before is not None
    seeds = [context.rng.randint(2**31 - 1, size=context.before.n_iter + 1)[-1]]
    if not context.is_portion:
        weights = context.before.pool.network.net.weights
        seeds += [zlib.crc32(weights[name].tobytes()) for name in sorted(weights)]
    return np.random.RandomState(seeds)


def _set_initial_vectors(net: Net, data: FitData, context: FitContext) -> None:
    text, weights = data.text
    vectors = initial_vectors(
        context.settings.embedding_init,
        text,
        weights,
        None if data.tokenizer is None else data.tokenizer.vocabulary_,
        (data.vocabulary_size, context.settings.embedding_dim),
        context.rng,
    )
    if vectors is not None:
        net.set_embedding(vectors)


def _pretrain(net: Net, data: FitData, context: FitContext, teacher: Pool) -> None:
    """Let a network learn from one half of a document what the teacher says of the other half."""
    own_rng = copy.deepcopy(context.rng)  # pre-training takes no numbers from the user's generator
    rows = sample_to_pretrain(data.text[0], own_rng)
    soft = _softly_labelled(data, rows, teacher)
    batch_size = PRETRAINING_BATCH_SIZE
    pretrained = _new_net(
        data,
        context,
        document_net,
        {"vocabulary_size": data.vocabulary_size, "unknown_id": UNKNOWN_ID},
        n_documents=len(soft),
        max_epochs=epochs_of(PRETRAINING_STEPS, len(soft), batch_size, least=1, most=20),
        batch_size=batch_size,
        lr=context.settings.lr,
        frozen_epochs=epochs_frozen(context.settings.freeze_embedding),
        keep_best=False,
        random_state=own_rng,
    )
    pretrained.continue_from(net, with_moments=False)
    pretrained.train(soft, None)
    net.continue_from(pretrained, with_moments=False)


def _softly_labelled(data: FitData, rows: NDArray[np.int64], teacher: Pool) -> LabelledDocuments:
    """Label halves of some documents; held-out documents as if they had no label."""
    text, weights = data.text
    labels = np.full((len(text), data.n_classes), np.nan, dtype=np.float32)
    labels[data.training] = data.target.soft(data.labelled.targets[data.training])
    return labelled_by_other_half(
        text[rows],
        lambda half: data.target.probabilities(teacher.logits(half)),
        labels=labels[rows],
        weights=weights[rows],
    )
