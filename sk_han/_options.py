"""Options of the network, without PyTorch.

Each option is declared once, with default, constraint and meaning. Estimators take their
constraints from here, networks are built from these options, and files store them.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, TypeVar

__all__ = [
    "RNN",
    "Attention",
    "Choice",
    "MultiHopAttention",
    "NetworkOptions",
    "Options",
    "Range",
]


@dataclass(frozen=True)
class Range:
    """Constraint: an integer or a number of at least `low` (or above it) and below `high`."""

    kind: type
    low: float
    high: float = math.inf
    includes_low: bool = True

    def accepts(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        if isinstance(value, bool) or not isinstance(value, self.kind):
            return False
        number: Any = value
        above = self.low <= number if self.includes_low else self.low < number
        return bool(above and number < self.high)

    def __str__(self) -> str:
        kind = "an integer" if self.kind is Integral else "a number"
        below = "" if self.high == math.inf else f" and below {self.high:g}"
        return f"{kind} {'of at least' if self.includes_low else 'above'} {self.low:g}{below}"


@dataclass(frozen=True)
class Choice:
    """Constraint: one of several values (strings, booleans), or an instance of some classes."""

    values: tuple[Any, ...]
    classes: tuple[type, ...] = ()

    def accepts(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        if isinstance(value, self.classes):
            return True
        return any(type(value) is type(v) and value == v for v in self.values)

    def __str__(self) -> str:
        names = [*map(repr, self.values), *(f"{kind.__name__}(...)" for kind in self.classes)]
        return "one of " * (len(names) > 1) + ", ".join(names)


@dataclass(frozen=True)
class InstanceOf:
    """Constraint: an instance of a type."""

    kind: type

    def accepts(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        return isinstance(value, self.kind)

    def __str__(self) -> str:
        return "a string" if self.kind is str else f"a {self.kind.__name__}"


@dataclass(frozen=True)
class Either:
    """Constraint: a value that at least one of several constraints allows."""

    constraints: tuple[Range | Choice | InstanceOf, ...]

    def accepts(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        return any(constraint.accepts(value) for constraint in self.constraints)

    def __str__(self) -> str:
        return " or ".join(map(str, self.constraints))


Constraint = Range | Choice | InstanceOf | Either


def option(default: Any, constraint: Range | Choice) -> Any:
    """Declare an option of a dataclass, with its default and its constraint."""
    return dataclasses.field(default=default, metadata={"constraint": constraint})


_OptionsT = TypeVar("_OptionsT", bound="Options")


@dataclass(kw_only=True)
class Options:
    """Named options that scikit-learn's ``clone`` and searches can copy and set."""

    @classmethod
    def constraints(cls) -> dict[str, Range | Choice]:
        """Return the constraint of each option, by name."""
        return {field.name: field.metadata["constraint"] for field in fields(cls)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name, as scikit-learn's estimators do."""
        params = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in list(params.items()):
            if deep and isinstance(value, Options):
                params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Options:
        """Set options by name, as scikit-learn's estimators do."""
        names = [field.name for field in fields(self)]
        # An option is set before the options inside it, in any order of the arguments.
        for name, value in sorted(params.items(), key=lambda item: "__" in item[0]):
            own, _, inner = name.partition("__")
            if own not in names:
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}. Valid parameters are: "
                    f"{names}."
                )
            held = getattr(self, own)
            if inner and not isinstance(held, Options):
                raise ValueError(
                    f"{name!r} cannot be set: {own} is {held!r}, which has no parameters. Set "
                    f"{own} to an object that has {inner!r} first."
                )
            if inner:
                held.set_params(**{inner: value})
            else:
                setattr(self, own, value)
        return self

    def copy(self: _OptionsT) -> _OptionsT:
        """Return a copy with Python numbers in place of the NumPy scalars that searches pass."""
        params = self.get_params(deep=False)
        for name, value in params.items():
            if isinstance(value, Options):
                params[name] = value.copy()
            elif hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
                params[name] = value.item()
        return type(self)(**params)

    def to_plain(self) -> dict[str, Any]:
        """Return the options as values that JSON can hold, with the class under ``"class"``."""
        plain = {
            name: value.to_plain() if isinstance(value, Options) else value
            for name, value in self.copy().get_params(deep=False).items()
        }
        return {"class": type(self).__name__} | plain

    @classmethod
    def from_plain(cls: type[_OptionsT], plain: Any) -> _OptionsT:
        """Create options from the result of `to_plain`. Missing options get their defaults."""
        kinds = [kind for kind in (cls, *_subclasses(cls)) if fields(kind)]
        classes = {kind.__name__: kind for kind in kinds}
        name = plain.get("class") if isinstance(plain, dict) else None
        if not isinstance(name, str) or name not in classes:
            raise ValueError(f"{_short(plain)} is none of the options {sorted(classes)}")
        kind = classes[name]
        params = {name: value for name, value in plain.items() if name != "class"}
        unknown = sorted(params.keys() - kind.constraints().keys())
        if unknown:
            raise ValueError(f"{kind.__name__} has no options {_short(unknown)}")
        for name, value in params.items():
            if isinstance(value, dict):
                params[name] = Options.from_plain(value)
        options = kind(**params)
        options.check()
        return options

    def check(self) -> None:
        """Check every option; the message names the invalid one, its value and the constraint."""
        for name, constraint in self.constraints().items():
            value = getattr(self, name)
            if not constraint.accepts(value):
                raise ValueError(
                    f"The {name!r} parameter of {type(self).__name__} must be {constraint}. Got "
                    f"{_short(value)} instead."
                )
            if isinstance(value, Options):
                value.check()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _subclasses(cls: type[_OptionsT]) -> list[type[_OptionsT]]:
    return [kind for child in cls.__subclasses__() for kind in (child, *_subclasses(child))]


_FLAG = Choice((False, True))
_SIZE = Range(Integral, 1)
# A larger penalty would overflow single precision.
_PENALTY = Range(Real, 0, 1e30)
_SHARE = Range(Real, 0, 1)


@dataclass(kw_only=True)
class RNN(Options):
    """The recurrent network that encodes the words of a sentence and the sentences of a document.

    Parameters
    ----------
    cell : {"gru", "lstm", "rnn"}, default="gru"
        The kind of cell; "rnn" is the simple one with tanh. `sk_han.nn.PackedRNN` has the
        equations.
    num_layers : int, default=1
        Number of layers; the input of a layer is the states of the layer below.
    bidirectional : bool, default=True
        Whether a second network reads the sequence backwards.

    Notes
    -----
    "gru" with one layer and both directions is by far the fastest on a CPU.

    Examples
    --------
    >>> from sk_han import RNN
    >>> RNN(cell="lstm", num_layers=2)
    RNN(cell='lstm', num_layers=2, bidirectional=True)
    """

    cell: str = option("gru", Choice(("gru", "lstm", "rnn")))
    num_layers: int = option(1, _SIZE)
    bidirectional: bool = option(True, _FLAG)


@dataclass(kw_only=True)
class Attention(Options):
    """Attention of words in a sentence and of sentences in a document (Yang et al., 2016).

    Parameters
    ----------
    size : int, default=96
        Size A of the attention's hidden layer.
    per_label : {"auto"} or bool, default="auto"
        Whether each class or label also has its own attention to the words of the document
        (Mullenbach et al., 2018), whose scores are added to those of the document vector. "auto"
        means True with several labels per document, if there are 31 to 500 labels.

    References
    ----------
    Yang, Yang, Dyer, He, Smola, Hovy (2016). Hierarchical Attention Networks for Document
    Classification. NAACL.

    Mullenbach, Wiegreffe, Duke, Sun, Eisenstein (2018). Explainable Prediction of Medical Codes
    from Clinical Text. NAACL.

    Examples
    --------
    >>> from sk_han import Attention
    >>> Attention(size=50)
    Attention(size=50, per_label='auto')
    """

    size: int = option(96, _SIZE)
    per_label: bool | str = option("auto", Choice(("auto", False, True)))


@dataclass(kw_only=True)
class MultiHopAttention(Attention):
    """Several attentions in parallel at both levels (Lin et al., 2017).

    `explain` shows the mean of their weights.

    Parameters
    ----------
    size, per_label
        As in `Attention`.
    hops : int, default=4
        Number R of attentions.
    penalty : float, default=1.0
        Weight of ``||A A^T - I||_F^2`` (R x R) in the loss, a penalty on attentions to the same
        words.

    References
    ----------
    Lin, Feng, dos Santos, Yu, Xiang, Zhou, Bengio (2017). A Structured Self-attentive Sentence
    Embedding. ICLR.
    """

    hops: int = option(4, _SIZE)
    penalty: float = option(1.0, _PENALTY)


_CELL_OR_RNN = Choice(("gru", "lstm", "rnn"), (RNN,))
_POOLING = Choice(("attention", "mean", "max", "last"), (Attention,))


@dataclass(kw_only=True)
class NetworkOptions(Options):
    """Options of a `HierarchicalAttentionNetwork`, except for its vocabulary and classes.

    Parameters
    ----------
    embedding_dim, word_hidden, sentence_hidden, rnn, pooling, dropout, word_dropout
        As in `sk_han.HANClassifier`.
    embedding_dropout : float, default=0.0
        Share of the distinct words of a batch that are dropped in training, at all their positions
        (Gal and Ghahramani, 2016).
    """

    embedding_dim: int = option(192, _SIZE)
    word_hidden: int = option(48, _SIZE)
    sentence_hidden: int = option(48, _SIZE)
    rnn: str | RNN = option("gru", _CELL_OR_RNN)  # noqa: RUF009 (a dataclass field)
    pooling: str | Attention = option("attention", _POOLING)  # noqa: RUF009
    dropout: float = option(0.3, _SHARE)
    word_dropout: float = option(0.1, _SHARE)
    embedding_dropout: float = option(0.0, _SHARE)

    @property
    def recurrent(self) -> RNN:
        """The recurrent network as an `RNN`, also if `rnn` is a string."""
        return self.rnn if isinstance(self.rnn, RNN) else RNN(cell=self.rnn)

    @property
    def attention(self) -> Attention | None:
        """The attention, also if `pooling` is a string; None for a pooling without attention."""
        if isinstance(self.pooling, Attention):
            return self.pooling
        return Attention() if self.pooling == "attention" else None

    @property
    def attends_per_label(self) -> bool:
        """Whether a network with these options has a `LabelAttention`."""
        return self.attention is not None and self.attention.per_label is True

    def resolve_auto(self, per_label: bool) -> NetworkOptions:
        """Return options in which `per_label="auto"` is True, or still "auto" for False.

        A network treats "auto" as False.
        """
        options, attention = self.copy(), self.attention
        if per_label and attention is not None and attention.per_label == "auto":
            options.pooling = attention = attention.copy()
            attention.per_label = True
        return options

    def check_same_structure(self, fitted: NetworkOptions) -> None:
        """Check that training can continue, with these options, a network of the fitted ones."""
        for name in ("embedding_dim", "word_hidden", "sentence_hidden", "rnn", "pooling"):
            if _structure(self, name) != _structure(fitted, name):
                current, earlier = getattr(self, name), getattr(fitted, name)
                raise ValueError(
                    f"{name} is {current!r} now, and {earlier!r} in the fitted network, which "
                    "training cannot continue from. Set it back, or fit anew."
                )


def _structure(options: NetworkOptions, name: str) -> Any:
    """Return an option for comparison, without the penalty, which may change in further training.

    Once "auto" is resolved, what is still "auto" equals False.
    """
    if name == "rnn":
        return options.recurrent
    attention = options.attention
    if name != "pooling" or attention is None:
        return getattr(options, name)
    same = attention.copy().set_params(per_label=options.attends_per_label)
    return same.set_params(penalty=0.0) if isinstance(same, MultiHopAttention) else same
