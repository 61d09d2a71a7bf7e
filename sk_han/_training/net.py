"""The skorch net that trains a network, and its device, engine and threads.

Only this file overrides template methods of skorch.
"""

from __future__ import annotations

import contextlib
import copy
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import cpu_count
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from skorch import NeuralNet
from skorch.callbacks import LRScheduler, PassthroughScoring
from skorch.dataset import Dataset
from skorch.helper import predefined_split
from torch import Tensor

from sk_han._documents import Coalitions, DocumentArray
from sk_han._kernels.engine import (
    ENGINES,
    at_most_per_core,
    engine_in_use,
    n_threads,
    tasks_at_once,
    using_engine,
    using_threads,
)
from sk_han._training.callbacks import (
    EpochTimer,
    StopAfter,
    StopOnInterrupt,
    StopTraining,
    handling_ctrl_c,
)
from sk_han._training.gradients import clip_arrays, kernels_train, set_gradients
from sk_han._utils.compat import POSITIVE, StrOptions, validate_parameter_constraints
from sk_han.nn._training import adversarial_noise, clip_gradient_norm

# Linux's flag PF_FORKNOEXEC: the process was forked and has not executed another program since.
_FORKED_WITHOUT_EXEC = 0x40


def _may_be_forked(imported: Sequence[str]) -> bool:
    """Return whether a parent process may have used PyTorch before it forked this one.

    If sk_han was imported before PyTorch, this process has imported PyTorch itself.
    """
    if imported.index("sk_han") < imported.index("torch"):
        return False
    try:
        status = Path("/proc/self/stat").read_text("utf-8", "replace")
    except OSError:
        # Other systems than Linux do not fork new processes by default.
        return False
    flags = int(status.rpartition(")")[2].split()[6])
    return bool(flags & _FORKED_WITHOUT_EXEC)


_CONSTRAINTS: dict[str, Any] = {
    "engine": [StrOptions(set(ENGINES))],
    "n_threads": [POSITIVE, None],
}

# The id of the process that imported PyTorch; None if that may be a parent of this process.
_IMPORTED_IN = None if _may_be_forked(list(sys.modules)) else os.getpid()

# The result is cached, because joblib reads files of the operating system each time.
_n_cores = cache(cpu_count)


@contextlib.contextmanager
def computing(engine: str = "auto", threads: int | None = None) -> Iterator[None]:
    """Compute with an engine on a number of threads inside the block; both are checked.

    The default number of threads is that of an enclosing block. Without one it is PyTorch's
    setting, or the number of cores that this process may use if that is lower, and 1 in a forked
    process. Tasks that run at once in a Dask worker share the cores. At most four threads per core
    are used.
    """
    settings = {"engine": engine, "n_threads": threads}
    validate_parameter_constraints(_CONSTRAINTS, settings, caller_name="the estimator")
    if threads is None:
        own_cores = max(_n_cores() // (tasks_at_once() or 1), 1)
        usual = min(torch.get_num_threads(), own_cores) if os.getpid() == _IMPORTED_IN else 1
        threads = n_threads(usual)
    threads = at_most_per_core(threads, _n_cores())
    with using_engine(engine), using_threads(threads), torch_threads(threads):
        try:
            yield
        except RuntimeError as error:
            # PyTorch has no class for this error. Its message names the allocator and the size:
            # "allocate 82534400 bytes".
            if "DefaultCPUAllocator" not in str(error):
                raise
            match = re.search(r"allocate (\d+) bytes", str(error))
            size = f"{int(match[1]):,} bytes" if match else "what it needs"
            raise MemoryError(
                f"PyTorch could not allocate {size} of memory. Lower batch_size, net_params="
                "{'valid_batch_size': ..., 'module__max_words': ...}, or the size of the network."
            ) from error


@contextlib.contextmanager
def torch_threads(number: int | None = None, *, of_kernels: bool = False) -> Iterator[None]:
    """Let PyTorch use this number of threads inside the block, and one in a forked process.

    A fork does not copy the threads of PyTorch's pool, and would wait for them forever
    (pytorch#17199). If kernels do most of the work, PyTorch gets one thread too, since its idle
    threads wait actively and would take the cores of the kernels.
    """
    before = torch.get_num_threads()
    # PyTorch does not accept a bool.
    number = before if number is None else int(number)
    if os.getpid() != _IMPORTED_IN or (of_kernels and number > 1 and engine_in_use() == "numba"):
        number = 1
    if number == before:
        yield
        return
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def available_devices() -> list[str]:
    """Return the names of the devices of this machine, the CPU first."""
    devices = ["cpu"]
    if torch.cuda.is_available():
        devices += ["cuda", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return devices


def resolve_device(device: str) -> str:
    """Return the device; "auto" gives CUDA if there is one, else the CPU. It must be present."""
    present = available_devices()
    if device == "auto":
        return "cuda" if "cuda" in present else "cpu"
    if device not in present:
        is_name = re.fullmatch(r"cpu|cuda(:\d+)?|mps", device)
        why = "available here" if is_name else "one of 'cpu', 'cuda', 'cuda:1', ..., 'mps'"
        raise ValueError(
            f"device={device!r} is not {why}; this machine has {present}. "
            "device='auto' takes CUDA where there is one, else the CPU."
        )
    return device


@dataclass(frozen=True)
class Batches:
    """Batches of labelled data; with `shuffle`, each iteration has a new random order.

    With a `net`, iteration stops after a callback has ended its epoch.
    """

    data: Any  # sliceable, with inputs, targets and weights, such as `LabelledDocuments`
    batch_size: int
    shuffle: np.random.RandomState | None = None
    net: Net | None = None
    excerpt_words: int | None = None  # length of the excerpts, which are drawn anew each time

    def __iter__(self) -> Iterator[tuple[Any, NDArray[Any]]]:
        """Yield pairs that skorch expects: the data of a batch, and its targets."""
        n = len(self.data)
        if self.shuffle is None:
            order = np.arange(n)
        elif hasattr(self.data, "order"):
            # Data may choose batches of similar length.
            order = self.data.order(self.batch_size, self.shuffle)
        else:
            order = self.shuffle.permutation(n)
        for start in range(0, n, self.batch_size):
            batch = self.data[order[start : start + self.batch_size]]
            if self.excerpt_words is not None:
                batch = batch.excerpts(self.excerpt_words, self.shuffle)
            yield batch, batch.targets
            if self.net is not None and self.net.ended_by is not None:
                return


def document_tensors(documents: DocumentArray, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return word ids (T,) on the device; words per sentence (N,), sentences (D,) on the CPU."""
    return (
        torch.from_numpy(documents.word_ids.astype(np.int64)).to(device),
        torch.from_numpy(documents.words_per_sentence),
        torch.from_numpy(documents.sentences_per_document),
    )


def weighted_mean(values: Tensor, weights: NDArray[np.float64]) -> Tensor:
    """Compute the weighted mean of values, such as losses, shape ()."""
    # Shares are computed in double precision, so that weights may have any magnitude.
    shares = weights / weights.sum()
    return (values * torch.from_numpy(shares).to(values)).sum()


def accuracy(logits: NDArray[Any], targets: NDArray[Any]) -> float:
    """Compute the share of targets whose class has the highest logit."""
    return float((logits.argmax(axis=1) == targets).mean())


MEASURES = {"valid_accuracy": accuracy}


class Net(ClassifierMixin, NeuralNet):
    """skorch net for networks over ragged batches, shared by all estimators.

    The network is a module with word vectors ``embedding`` (or None), a last layer ``output``, a
    ``generator`` of random numbers, ``start_from`` if its word vectors can be set, and ``attend``,
    which takes the tensors of a batch and returns a named tuple with ``logits`` and ``penalty``
    (one for each target, or a single one). Training data have sliceable ``inputs``, ``targets``
    with a row for each row of the logits, and positive ``weights``.

    Parameters beyond skorch's: `to_tensors` converts inputs, for a device, to the arguments of
    ``attend``. `measures` are functions of the logits and targets of a validation batch, by their
    names in the history; higher is better. `decide` converts logits to targets, by default to the
    number of the highest. `noise` is the length of adversarial noise relative to the word vectors;
    it is added in one of every `noise_every` steps, for half of the loss. In each epoch documents
    of more than `excerpt_words` words are replaced by new random excerpts, but not in predictions
    and scores. Without an optimizer (None), the net can only predict.
    """

    # The reason why training ended early, such as "the time" or "an interrupt".
    ended_by: str | None = None

    def __init__(
        self,
        module: type[torch.nn.Module],
        *,
        to_tensors: Callable[[Any, str], tuple[Tensor, ...]],
        measures: Mapping[str, Callable[[NDArray[Any], NDArray[Any]], float]] = MEASURES,
        decide: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
        clip_norm: float | None = None,
        noise: float = 0.0,
        noise_every: int = 1,
        shuffle: np.random.RandomState | None = None,
        valid_batch_size: int = 256,
        excerpt_words: int | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs = {
            "criterion": torch.nn.CrossEntropyLoss,
            "criterion__reduction": "none",
            "train_split": None,
            "verbose": 0,
        } | kwargs
        super().__init__(module, **kwargs)
        self.to_tensors = to_tensors
        self.measures = measures
        self.decide = decide
        self.clip_norm = clip_norm
        self.noise = noise
        self.noise_every = noise_every
        self.shuffle = shuffle
        self.valid_batch_size = valid_batch_size
        self.excerpt_words = excerpt_words

    def train(
        self, training: Any, validation: Any, more: Callable[[Net], int] | None = None
    ) -> Net:
        """Train for `max_epochs`, and then for `more` epochs in another cycle of learning rates.

        A FloatingPointError is raised if the loss, a weight or a logit is not a finite number.
        """
        held_out = validation if validation is None else self.get_dataset(validation)
        self.train_split = None if held_out is None else predefined_split(held_out)
        if not self.initialized_:
            self.initialize()
        self.ended_by = None
        data = {"X": training, "y": training.targets}
        self.notify("on_train_begin", **data)
        with contextlib.ExitStack() as stack:
            for _, callback in self.callbacks_:
                if isinstance(callback, StopOnInterrupt):
                    stack.enter_context(callback.watching())
            with contextlib.suppress(StopTraining), self._own_settings():
                self.fit_loop(training)
                if more is not None and (n_epochs := more(self)):
                    self._restart_schedule(n_epochs)
                    self.fit_loop(training, epochs=n_epochs)
                    self.ended_by = "two cycles"
        self.notify("on_train_end", **data)
        for name, weight in self.module_.named_parameters():
            self._check_finite(weight, f"the weight {name}")
        self.prepare_to_predict()
        first_inputs = training.inputs[: self.valid_batch_size]
        self._check_finite(torch.from_numpy(self.outputs(first_inputs)), "a logit")
        return self

    def _restart_schedule(self, n_epochs: int) -> None:
        """Start another cycle of learning rates, of `n_epochs` epochs."""
        for _, callback in self.callbacks_:
            if isinstance(callback, LRScheduler):
                n_steps = n_epochs * (callback.kwargs["total_steps"] - 1) // self.max_epochs
                schedule = callback.kwargs | {"total_steps": n_steps + 1}
                callback.lr_scheduler_ = callback.policy_(self.optimizer_, **schedule)
            if isinstance(callback, StopAfter):
                callback.restart()
        self.max_epochs += n_epochs

    def prepare_to_predict(self) -> None:
        """Switch to evaluation mode, and on the CPU project all words once (`tabulate`)."""
        self._set_training(False)
        if self.device == "cpu" and hasattr(self.module_, "tabulate"):
            with self._own_settings():
                self.module_.tabulate()

    @property
    def weights(self) -> dict[str, NDArray[Any]]:
        """All weights of the network as arrays on the CPU."""
        return {
            # torch.compile adds this prefix to names.
            name.removeprefix("_orig_mod."): weight.numpy(force=True)
            for name, weight in self.module_.state_dict().items()
        }

    def continue_from(self, other: Net, *, with_moments: bool) -> None:
        """Copy the weights of another net, and on request the moments of its optimizer."""
        self.module_.load_state_dict(other.module_.state_dict())
        # A net restored from a file has no optimizer.
        earlier: Any = getattr(other, "optimizer_", None)
        if with_moments and type(earlier) is type(self.optimizer_) and earlier.state:
            # `load_state_dict` does not copy moments. Learning rates stay those of this net.
            state = copy.deepcopy(earlier.state_dict()["state"])
            groups = self.optimizer_.state_dict()["param_groups"]
            self.optimizer_.load_state_dict({"state": state, "param_groups": groups})

    def outputs(self, inputs: Any, name: str = "logits") -> NDArray[np.float32]:
        """Compute the logits (D, C), or another field of the network's output, in batches."""
        batches = (
            inputs[start : start + self.valid_batch_size]
            for start in range(0, len(inputs), self.valid_batch_size)
        )
        # NumPy concatenates, since PyTorch would use threads that a forked process does not have.
        return np.concatenate(
            [getattr(self.compute("attend", batch), name).numpy(force=True) for batch in batches]
        )

    def compute(self, method: str, inputs: Any, score: Any = None, rows: Any = None) -> Any:
        """Call a method of the network on a batch or, if a GPU has too little memory, on halves.

        If the method needs the gradient of a score, `score` is a function of logits (n, K) and of
        the rows of their documents, both arrays, that returns the factor of each logit.
        """
        rows = np.arange(len(inputs)) if rows is None else rows

        def factors(logits: Tensor) -> Tensor:
            array = logits.numpy(force=True).astype(np.float64)
            return torch.from_numpy(score(array, rows)).to(logits)

        with torch.inference_mode(score is None), self._own_settings():
            tensors = self.to_tensors(inputs, self.device)
            try:
                return getattr(self.module_, method)(*tensors, *([factors] if score else []))
            except torch.OutOfMemoryError as error:
                if len(inputs) == 1:
                    raise MemoryError(
                        f"A document of {len(tensors[0])} words does not fit into the memory of "
                        f"{self.device}. Lower net_params={{'module__max_words': ...}} or the "
                        "tokenizer's max_sentences or max_words, or predict with a pickled copy on "
                        "a machine without a GPU."
                    ) from error
            # This is outside the handler, since the error refers to the memory of the failed
            # attempt.
            del tensors
            half = len(inputs) // 2
            halves = [
                self.compute(method, inputs[places], score, rows[places])
                for places in (slice(None, half), slice(half, None))
            ]
            joined = (torch.cat(rows) for rows in zip(*halves, strict=True))
            return type(halves[0])(*joined)

    def read_sentences(self, vectors: Tensor, coalitions: Coalitions) -> NDArray[np.float32]:
        """Compute the logits (M, C) of sets of sentences from the vectors (N, H) of sentences."""
        try:
            with torch.inference_mode(), self._own_settings():
                chosen = torch.from_numpy(coalitions.sentences).to(self.device)
                lengths = torch.from_numpy(coalitions.lengths)
                level = self.module_.read_sentences(vectors, lengths, chosen=chosen)
                return level.logits.numpy(force=True)
        except torch.OutOfMemoryError:
            if min(len(coalitions.lengths), len(coalitions.sentences)) < 2:
                raise
        one_each = np.ones(len(vectors), dtype=np.int64)
        halves = coalitions.portions(one_each, len(coalitions.sentences) // 2)
        return np.concatenate([self.read_sentences(vectors, half) for half in halves])

    def notify(self, method_name: str, **cb_kwargs: Any) -> None:
        """Call the callbacks; at the end of an epoch, a callback may ask to stop training.

        skorch's callbacks do that by KeyboardInterrupt, which must be distinguished from Ctrl-C.
        Later callbacks are still called, since one of them keeps the best weights.
        """
        if method_name != "on_epoch_end":
            super().notify(method_name, **cb_kwargs)
            return
        request, is_ctrl_c = None, False

        def handle(interrupt: Callable[[], None]) -> None:
            nonlocal is_ctrl_c
            try:
                interrupt()
            except KeyboardInterrupt:
                is_ctrl_c = True
                raise

        self.on_epoch_end(self, **cb_kwargs)
        with handling_ctrl_c(handle):
            for _, callback in self.callbacks_:
                try:
                    callback.on_epoch_end(self, **cb_kwargs)
                except (KeyboardInterrupt, StopTraining) as stop:
                    if is_ctrl_c and isinstance(stop, KeyboardInterrupt):
                        raise
                    request = stop
        if request is not None:
            raise StopTraining from request

    @property
    def _default_callbacks(self) -> list[tuple[str, Any]]:
        return [
            ("epoch_timer", EpochTimer()),
            ("train_loss", PassthroughScoring(name="train_loss", on_train=True)),
            ("valid_loss", PassthroughScoring(name="valid_loss")),
            *(
                (name, PassthroughScoring(name=name, lower_is_better=False))
                for name in self.measures
            ),
        ]

    def initialize_module(self) -> Net:
        """Create the network in single precision on the CPU, despite other PyTorch defaults."""
        with torch.device("cpu"):
            super().initialize_module()
        self.module_.float()
        return self

    def initialize_optimizer(self, *args: Any, **kwargs: Any) -> Net:
        """Create the optimizer, except for prediction: PyTorch's would import its compiler."""
        if self.optimizer is not None:
            super().initialize_optimizer(*args, **kwargs)
        return self

    def get_dataset(self, X: Any, y: None = None) -> Dataset:
        """Wrap data so that skorch's callbacks see the targets."""
        return X if isinstance(X, Dataset) else Dataset(X, X.targets, len(X))

    def get_iterator(self, dataset: Dataset, training: bool = False) -> Batches:
        """Return batches, shuffled for training and otherwise in order."""
        if training:
            return Batches(dataset.X, self.batch_size, self.shuffle, self, self.excerpt_words)
        return Batches(dataset.X, self.valid_batch_size)

    def on_batch_end(
        self, net: Net, batch: Any = None, training: bool = False, **kwargs: Any
    ) -> None:
        """Record the number of targets, such as words, as the weight of a batch in epoch scores."""
        super().on_batch_end(net, batch=batch, training=training, **kwargs)
        self.history.record_batch(f"{'train' if training else 'valid'}_batch_size", len(batch[1]))

    def infer(self, x: Any, **fit_params: Any) -> Tensor:
        """Compute the logits of a batch."""
        tensors = self.to_tensors(x.inputs, self.device)
        logits: Tensor = self.module_.attend(*tensors).logits
        return logits

    def get_loss(
        self, y_pred: Tensor, y_true: NDArray[np.int64], X: Any = None, training: bool = False
    ) -> Tensor:
        """Compute the weighted mean of the criterion over the targets of a batch."""
        losses = self.criterion_(y_pred, torch.from_numpy(y_true).to(y_pred.device))
        return weighted_mean(losses, X.weights)

    def train_step_single(self, batch: Any, **fit_params: Any) -> dict[str, Tensor]:
        """Compute the gradients of a batch, in some steps also with noise, and clip them."""
        if not self.module_.training:
            self._set_training(True)
        X, y = batch
        embedding = self.module_.embedding
        # The number of batches of this epoch includes the current one.
        n_batches = len(self.history[-1]["batches"]) if len(self.history) else 0
        noisy = (
            embedding is not None
            and self.noise > 0
            and embedding.weight.requires_grad
            and max(n_batches - 1, 0) % self.noise_every == 0
        )
        if kernels_train(self, X.inputs):
            return self._step_by_kernels(X, y, self.noise if noisy else 0.0)
        share = 0.5 if noisy else 1.0
        loss, logits = self._add_gradients(X, y, share)
        if noisy:
            with adversarial_noise(embedding.weight, self.noise):
                self._add_gradients(X, y, share)
        if self.clip_norm is not None:
            clip_gradient_norm(self.module_.parameters(), self.clip_norm)
        return {"loss": loss, "y_pred": logits}

    def _step_by_kernels(self, X: Any, y: NDArray[Any], noise: float) -> dict[str, Tensor]:
        """Compute the same step by kernels, without autograd."""
        documents, shares = self.to_tensors(X.inputs, self.device), X.weights / X.weights.sum()
        with using_threads(n_threads(torch.get_num_threads())):
            step = set_gradients(self.module_, self.criterion_, documents, y, shares, noise)
        self._check_finite(step.losses, "the loss")
        if self.clip_norm is not None:
            clip_arrays(step.arrays, self.clip_norm)
        return {"loss": step.losses[0], "y_pred": step.logits}

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Tensor]:
        """Compute the loss and the measures of a validation batch."""
        step: dict[str, Tensor] = super().validation_step(batch, **fit_params)
        self._check_finite(step["loss"], "the validation loss")
        logits = step["y_pred"].numpy(force=True)
        for name, measure in self.measures.items():
            self.history.record_batch(name, measure(logits, batch[1]))
        return step

    @property
    def classes_(self) -> Any:
        """The targets, for scikit-learn's scorers; with several labels, 0 and 1 for each."""
        n = self.module_.output.out_features
        return n * [np.arange(2)] if self.predict_nonlinearity is torch.sigmoid else np.arange(n)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted targets, for skorch's scoring callbacks."""
        logits = self.forward(X).double().numpy(force=True)
        return logits.argmax(axis=1) if self.decide is None else self.decide(logits)

    def _add_gradients(self, X: Any, y: NDArray[np.int64], share: float) -> tuple[Tensor, Tensor]:
        """Add the gradients of the loss times `share`; return loss and logits."""
        output = self.module_.attend(*self.to_tensors(X.inputs, self.device))
        loss = self.get_loss(output.logits, y, X=X, training=True)
        penalty = output.penalty
        loss = loss + (weighted_mean(penalty, X.weights) if penalty.dim() else penalty)
        self._check_finite(loss, "the loss")
        (share * loss).backward()
        return loss, output.logits

    @contextlib.contextmanager
    def _own_settings(self) -> Any:
        """Compute in single precision, even inside the caller's `torch.autocast`.

        With a GPU the CPU only prepares batches, which is too little work for several threads.
        """
        precision = torch.autocast(torch.device(self.device).type, enabled=False)
        on_cpu = self.device == "cpu"
        several = on_cpu and torch.get_num_threads() > 1
        covered = several and getattr(self.module_, "has_kernels", False)
        with precision, torch_threads(None if on_cpu else 1, of_kernels=covered):
            yield

    def _check_finite(self, values: Tensor, what: str) -> None:
        if not torch.isfinite(values).all():
            value = values[~torch.isfinite(values)].flatten()[0].item()
            raise FloatingPointError(
                f"In epoch {len(self.history)} {what} became {value}: training diverged. Lower "
                "lr, net_params={'clip_norm': ...}, adversarial_noise, or the initial vectors."
            )
