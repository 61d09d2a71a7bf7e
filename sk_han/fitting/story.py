"""One fit, from the user's data to a pool of parts."""

from __future__ import annotations

import copy

import numpy as np

from sk_han.documents.repeated import TextHashes
from sk_han.fitting.context import FitContext
from sk_han.fitting.data import FitData, Given, read_data
from sk_han.fitting.learner import Learner
from sk_han.fitting.linear import LinearLearner
from sk_han.fitting.logit_scales import decided, scaled_pool
from sk_han.fitting.network import NetworkLearner, WordsLearner
from sk_han.fitting.state import FittedModel
from sk_han.fitting.summary import summary_of, warn_of_a_useless_network
from sk_han.training.history import training_attributes
from sk_han.utils.messages import counted
from sk_han.utils.progress import tell

# What learns in a fit, in this order; the network comes first.
LEARNERS: list[type[Learner]] = [NetworkLearner, WordsLearner, LinearLearner]


def fit(given: Given, context: FitContext) -> FittedModel:
    """Learn from the user's data."""
    settings = context.settings
    # Labels checked and encoded, texts to word ids, some documents held out.
    with context.stages("texts"):
        data = read_data(given, context)
    tell(_line_of(data), quiet=not context.stages.verbose)
    # Who has something to learn; what cannot be learnt, for want of memory say, is refused here.
    found = [kind.of(data, context) for kind in LEARNERS]
    learners = [learner for learner in found if learner is not None]

    # Text without labels gives the directions of the latent model. Where it is much, linear models
    # of the labelled documents become a teacher, which labels it for the network.
    for learner in learners:
        learner.prepare(data, context)
    taught = [learner.teach(data, context) for learner in learners]
    teacher = next((pool for pool in taught if pool is not None), None)

    # The network learns, from word vectors to its last epoch, and first of all from the teacher.
    # Then the linear models learn.
    learnt = [learner.fit(data, context, teacher) for learner in learners]

    # Logits of held-out documents say by what factor the parts of each learner count. So
    # probabilities are calibrated.
    with context.stages("scales"):
        scaled = scaled_pool(learnt, data, context)
        scaled = decided(scaled, data, settings.threshold)
    if not context.is_portion and scaled.unseen_logits is None:
        scaled.pool.target.warn_of_no_threshold(settings.threshold)
    summary = summary_of(scaled, data, context)
    # A portion may have other class frequencies, and a loss of the user's no probabilities.
    if not context.is_portion and not settings.own_loss:
        warn_of_a_useless_network(summary, scaled, data.training_data, settings.lr)
    if settings.verbose:
        tell(summary)
    training = training_attributes(scaled.pool.network.net, context.earlier_history)
    fitted = data.model(
        scaled.pool,
        training["history_"],
        device=context.device,
        best_epoch=training["best_epoch_"],
        best_score=training["best_score_"],
        fit_summary=summary,
        text_hashes=_text_hashes(data, context),
    )
    context.task.end(fitted.attributes())
    return fitted


def _line_of(data: FitData) -> str:
    """Return what was read as a line."""
    documents = data.labelled.documents
    kind = "class" if data.target.has_one_label else "label"
    held_out = "" if data.held_out is None else f"; {len(data.held_out):,} are held out"
    return (
        f"Read {counted(len(documents))} of {counted(data.n_classes, kind)}: "
        f"{counted(documents.n_words, 'word')} in {counted(documents.n_sentences, 'sentence')}"
        f"{held_out}"
    )


def _text_hashes(data: FitData, context: FitContext) -> TextHashes:
    """Hash the documents with a label, so that a report can tell them from new ones."""
    before = None if context.before is None else context.before.text_hashes
    if before is not None:
        return before.and_of(data.labelled.documents)
    salt = np.frombuffer(copy.deepcopy(context.rng).bytes(16), dtype=np.uint8)
    return TextHashes.of(data.labelled.documents, salt)
