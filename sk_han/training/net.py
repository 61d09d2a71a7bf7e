"""The skorch net inside `HANClassifier`: the only file that knows skorch's template methods."""

from __future__ import annotations

import contextlib
import copy
import inspect
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch import NeuralNet
from skorch.callbacks import EpochTimer, PassthroughScoring
from skorch.helper import predefined_split
from torch import Tensor

from sk_han.documents import DocumentArray, LabelledDocuments
from sk_han.nn import HANOutput, HierarchicalAttentionNetwork
from sk_han.nn.adversarial import adversarial_noise
from sk_han.nn.attribution import Attribution
from sk_han.nn.optimizers import clip_gradient_norm
from sk_han.training.batches import Batches
from sk_han.training.callbacks.stopping import StopTraining, interrupts

__all__ = ["HANNet", "network_input"]

if hasattr(os, "register_at_fork"):
    # PyTorch's threads do not come along into a forked process, which would wait for them for
    # ever (pytorch#17199): let it compute on one.
    os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))


class HANNet(NeuralNet):
    """skorch net for `HierarchicalAttentionNetwork` on `DocumentArray` batches.

    Parameters
    ----------
    module : type
        The network, built with the ``module__*`` parameters.
    clip_norm : float or None
        Largest norm of the gradient of a step.
    adversarial_noise : float
        Length of the noise on the word vectors, relative to their own: half of the loss of a step
        is that of the batch with noise. 0 for none, as while the vectors are frozen.
    shuffle : RandomState or None
        Source of the order of the training documents.
    valid_batch_size : int
        Documents a batch of validation and prediction.
    **kwargs
        Of `skorch.NeuralNet`.
    """

    def __init__(
        self,
        module: type[torch.nn.Module] = HierarchicalAttentionNetwork,
        *,
        clip_norm: float | None = None,
        adversarial_noise: float = 0.0,
        shuffle: np.random.RandomState | None = None,
        valid_batch_size: int = 256,
        **kwargs: Any,
    ) -> None:
        kwargs = {
            "criterion": torch.nn.CrossEntropyLoss,
            "criterion__reduction": "none",
            "train_split": None,
            "verbose": 0,
        } | kwargs
        super().__init__(module, **kwargs)
        self.clip_norm = clip_norm
        self.adversarial_noise = adversarial_noise
        self.shuffle = shuffle
        self.valid_batch_size = valid_batch_size

    def fit_documents(
        self, training: LabelledDocuments, validation: LabelledDocuments | None
    ) -> HANNet:
        """Train on labelled documents for `max_epochs`.

        Unlike `skorch.NeuralNet.partial_fit`, an interrupt (Ctrl-C) is passed on: a half-trained
        net must not look like a success.

        Raises
        ------
        FloatingPointError
            If the loss, a weight or a logit is no longer a finite number.
        """
        self.train_split = predefined_split(validation) if validation is not None else None
        if not self.initialized_:
            self.initialize()
        self.notify("on_train_begin", X=training, y=None)
        with contextlib.suppress(StopTraining), self._own_precision():
            self.fit_loop(training)
        self.notify("on_train_end", X=training, y=None)
        for name, weight in self.module_.named_parameters():
            self._check_finite(weight, f"the weight {name}")
        self.prepare_to_predict()
        some = training.documents[: self.valid_batch_size]
        self._check_finite(torch.from_numpy(self.logits(some)), "a logit")
        return self

    def prepare_to_predict(self) -> None:
        """Switch dropout off, and on the CPU look words up in a table from now on."""
        self._set_training(False)
        if self.device == "cpu":
            with self._own_precision():
                self.module_.tabulate()

    @property
    def module_params(self) -> dict[str, Any]:
        """Arguments that make a network of this shape, all plain types."""
        signature = inspect.signature(self.module).parameters
        # With the defaults, for a net of an earlier release that was saved without newer ones.
        params = {name: p.default for name, p in signature.items() if p.default is not p.empty}
        params |= self.get_params_for("module")
        return {name: value for name, value in params.items() if name != "generator"}

    @property
    def restoring_params(self) -> dict[str, Any]:
        """Arguments that make a net which predicts as this one does, all plain types."""
        params = {f"module__{name}": value for name, value in self.module_params.items()}
        return params | {"valid_batch_size": self.valid_batch_size}

    @property
    def weights(self) -> dict[str, NDArray[Any]]:
        """All weights of the network as arrays on the CPU."""
        return {
            name.removeprefix("_orig_mod."): weight.numpy(force=True)  # the prefix is compile's
            for name, weight in self.module_.state_dict().items()
        }

    def continue_from(self, other: HANNet) -> None:
        """Start with the weights, optimizer moments and random state of a net of this shape."""
        self.module_.load_state_dict(other.module_.state_dict())
        if other.shuffle is not None:  # a net restored from a file has no random state to go on
            self.module_.generator.set_state(other.module_.generator.get_state())
            self.shuffle = copy.deepcopy(other.shuffle)
        if other.optimizer_.state and type(other.optimizer_) is type(self.optimizer_):
            state = copy.deepcopy(other.optimizer_.state_dict()["state"])  # load_state_dict shares
            groups = self.optimizer_.state_dict()["param_groups"]  # rates are this net's own
            self.optimizer_.load_state_dict({"state": state, "param_groups": groups})

    def set_embedding(self, vectors: NDArray[np.float32]) -> None:
        """Start with these word vectors, shape (vocabulary_size, embedding_dim)."""
        with torch.no_grad():
            self.module_.embedding.weight.copy_(torch.from_numpy(vectors))

    def logits(self, documents: DocumentArray) -> NDArray[np.float32]:
        """Score documents in batches, shape (D, C)."""
        outputs = [
            self.attend(documents[start : start + self.valid_batch_size]).logits.cpu()
            for start in range(0, len(documents), self.valid_batch_size)
        ]
        return torch.cat(outputs).numpy()

    def attend(self, documents: DocumentArray) -> HANOutput:
        """Score one batch of documents with the attention weights of both levels.

        A batch that is too large for the memory of a GPU is scored in halves.

        Raises
        ------
        MemoryError
            If a single document is too large.
        """

        def read(batch: DocumentArray) -> HANOutput:
            output: HANOutput = self.module_.attend(*network_input(batch, self.device))
            return output

        with torch.inference_mode(), self._own_precision():
            return HANOutput(*self._in_halves(read, documents))

    def attribute(
        self, attribution: Callable[..., Attribution], documents: DocumentArray, score: Any
    ) -> Attribution:
        """Score one batch of documents with what each word brings to it.

        Parameters
        ----------
        attribution : callable
            One of `sk_han.nn.attribution`.
        documents : DocumentArray of shape (D,)
        score : callable
            As these functions take it; ``score[rows]`` is that of some of the documents.

        Raises
        ------
        MemoryError
            If a single document is too large.
        """

        def read(batch: DocumentArray, of_batch: Any) -> Attribution:
            return attribution(self.module_, *network_input(batch, self.device), of_batch)

        with torch.inference_mode(False), self._own_precision():
            return Attribution(*self._in_halves(read, documents, score))

    def _in_halves(
        self, read: Callable[..., tuple[Tensor, ...]], documents: DocumentArray, *further: Any
    ) -> tuple[Tensor, ...]:
        """Call `read` on a batch or, where a GPU has no memory for it, on its halves."""
        try:
            return read(documents, *further)
        except torch.OutOfMemoryError as error:
            if len(documents) == 1:
                raise MemoryError(
                    f"A document of {len(documents.word_ids)} words does not fit into the memory "
                    f"of {self.device}. Lower net_params={{'module__max_words': ...}}, shorten "
                    "documents with the tokenizer's max_sentences or max_words, or predict with a "
                    "pickled copy on a machine without a GPU."
                ) from error
        # Behind the handler, since the error holds on to the memory of what failed.
        half = len(documents) // 2
        halves = [
            self._in_halves(read, documents[rows], *(each[rows] for each in further))
            for rows in (slice(None, half), slice(half, None))
        ]
        return tuple(torch.cat(parts) for parts in zip(*halves, strict=True))

    def notify(self, method_name: str, **cb_kwargs: Any) -> None:
        """Call the callbacks, and tell one that asks to stop from an interrupt by the user.

        skorch's callbacks end training by raising KeyboardInterrupt when an epoch is over. Those
        behind such a one see the end of the epoch too: one of them keeps the best weights.
        """
        if method_name != "on_epoch_end":
            super().notify(method_name, **cb_kwargs)
            return
        wish = None
        self.on_epoch_end(self, **cb_kwargs)
        with interrupts() as arrived:
            for _, callback in self.callbacks_:
                try:
                    callback.on_epoch_end(self, **cb_kwargs)
                except (KeyboardInterrupt, StopTraining) as stop:
                    if arrived:
                        raise
                    wish = stop
        if wish is not None:
            raise StopTraining from wish

    @property
    def _default_callbacks(self) -> list[tuple[str, Any]]:
        return [
            ("epoch_timer", EpochTimer()),
            ("train_loss", PassthroughScoring(name="train_loss", on_train=True)),
            ("valid_loss", PassthroughScoring(name="valid_loss")),
            (
                "valid_accuracy",
                PassthroughScoring(name="valid_accuracy", lower_is_better=False),
            ),
        ]

    def initialize_module(self) -> HANNet:
        """Make the network in single precision on the CPU, whatever PyTorch's defaults are."""
        with torch.device("cpu"):
            super().initialize_module()
        self.module_.float()
        return self

    def get_dataset(
        self, X: LabelledDocuments | DocumentArray, y: None = None
    ) -> LabelledDocuments:
        """Take labelled documents as they are, and give others a label that nobody reads."""
        if isinstance(X, LabelledDocuments):
            return X
        return LabelledDocuments(X, np.zeros(len(X), dtype=np.int64), np.ones(len(X)))

    def get_iterator(self, dataset: LabelledDocuments, training: bool = False) -> Batches:
        """Shuffle for training, keep the order otherwise."""
        if training:
            return Batches(dataset, self.batch_size, self.shuffle)
        return Batches(dataset, self.valid_batch_size)

    def infer(self, x: LabelledDocuments, **fit_params: Any) -> Tensor:
        """Give the logits of a batch, shape (D, C)."""
        logits: Tensor = self.module_(*network_input(x.documents, self.device), **fit_params)
        return logits

    def get_loss(
        self, y_pred: Tensor, y_true: NDArray[np.int64], X: Any = None, training: bool = False
    ) -> Tensor:
        """Average the criterion over the documents of a batch by their weights."""
        losses = self.criterion_(y_pred, torch.from_numpy(y_true).to(y_pred.device))
        return _weighted_mean(losses, X)

    def train_step_single(self, batch: Any, **fit_params: Any) -> dict[str, Tensor]:
        """Learn from the batch, and from it with adversarial noise; clip the gradient."""
        self._set_training(True)
        X, y = batch
        vectors = self.module_.embedding.weight
        noisy = self.adversarial_noise > 0 and vectors.requires_grad
        share = 0.5 if noisy else 1.0
        loss, logits = self._training_loss(X, y)
        (share * loss).backward()
        if noisy:
            with adversarial_noise(vectors, self.adversarial_noise):
                (share * self._training_loss(X, y)[0]).backward()
        if self.clip_norm is not None:
            clip_gradient_norm(self.module_.parameters(), self.clip_norm)
        return {"loss": loss, "y_pred": logits}

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Tensor]:
        """Measure the share of right predictions beside the loss."""
        step: dict[str, Tensor] = super().validation_step(batch, **fit_params)
        self._check_finite(step["loss"], "the validation loss")
        right = step["y_pred"].argmax(dim=1).cpu().numpy() == batch[1]
        self.history.record_batch("valid_accuracy", float(right.mean()))
        return step

    def predict(self, X: LabelledDocuments) -> NDArray[np.int64]:
        """Give the number of the most probable class, for skorch's scoring callbacks."""
        return self.predict_proba(X).argmax(axis=1)

    def _training_loss(self, X: LabelledDocuments, y: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Loss of a batch with the network's penalty, refused if it is not finite, and logits."""
        output = self.module_.attend(*network_input(X.documents, self.device))
        loss = self.get_loss(output.logits, y, X=X, training=True)
        loss = loss + _weighted_mean(output.penalty, X)
        self._check_finite(loss, "the loss")
        return loss, output.logits

    def _own_precision(self) -> torch.autocast:
        """Compute in single precision, though the caller may be in `torch.autocast`."""
        return torch.autocast(torch.device(self.device).type, enabled=False)

    def _check_finite(self, values: Tensor, what: str) -> None:
        if not torch.isfinite(values).all():
            found = values[~torch.isfinite(values)].flatten()[0].item()
            raise FloatingPointError(
                f"In epoch {len(self.history)} {what} became {found}: training diverged. Lower lr "
                "or clip_norm, or scale pretrained vectors or adversarial_noise down."
            )


def _weighted_mean(values: Tensor, X: LabelledDocuments) -> Tensor:
    shares = X.weights / X.weights.sum()  # in double precision, whatever the weights' size
    return (values * torch.from_numpy(shares).to(values)).sum()


def network_input(documents: DocumentArray, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Turn a batch into the network's arguments; lengths stay on the CPU, which lays it out."""
    return (
        torch.from_numpy(documents.word_ids.astype(np.int64)).to(device),
        torch.from_numpy(documents.words_per_sentence),
        torch.from_numpy(documents.sentences_per_document),
    )
