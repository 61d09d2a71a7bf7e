"""HANRegressor: a number for each document, by the network and linear models of HANClassifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from sk_han._estimator import HANEstimator
from sk_han._storage.description import REGRESSOR
from sk_han._tokenizer import HierarchicalTokenizer
from sk_han._utils.compat import to_sklearn
from sk_han._utils.messages import suggesting_names


class HANRegressor(RegressorMixin, HANEstimator):
    """Predict a number for each document, such as a price, a score or a duration in days.

    The parts are those of `HANClassifier`: a Hierarchical Attention Network, linear models of
    n-grams and, where they pay, of characters, text without labels, a sentence encoder, the other
    columns of a table. They predict a distribution over knots of the range of y, which are
    quantiles of the training numbers, and the prediction is its expected value. A training number
    between two knots is divided between them (Imani and White, 2018; Farebrother et al., 2024).

    Parameters
    ----------
    tokenizer : HierarchicalTokenizer, default=None
        Cloned and fitted if X is raw text; None means ``HierarchicalTokenizer()``.
    text_column : str or list of str, default=None
        Name of the column of texts, if X is a table, whose other columns are read, too.
    columns : list of str, or dict of str to str or None, default=None
        See `HANClassifier`.
    encoder : object or str, default=None
        See `HANClassifier`.
    encoder_memory : str, path-like or joblib.Memory, default=None
        See `HANClassifier`.
    n_bins : int or "auto", default="auto"
        Number of knots of the distribution of y: quantiles of the training numbers, or all
        of them if there are as few. "auto" takes 8 up to 5,000 documents, and 16 above.
    scale : {"linear", "log"}, default="linear"
        "log" learns the logarithms of numbers above 0, such as prices, whose errors are
        proportional to them; `predict` then returns the exponential of the expected logarithm.
    embedding_dim : int, default=192
        See `HANClassifier`.
    embedding_init : {"cooccurrence", "random"}, ndarray of shape (vocabulary_size, \
embedding_dim) or mapping of word to vector, default="cooccurrence"
        See `HANClassifier`.
    freeze_embedding : bool or int, default=False
        See `HANClassifier`.
    word_hidden : int, default=48
        See `HANClassifier`.
    sentence_hidden : int, default=48
        See `HANClassifier`.
    rnn : {"gru", "lstm", "rnn"} or RNN, default="gru"
        See `HANClassifier`.
    pooling : {"attention", "mean", "max", "last"}, Attention or \
MultiHopAttention, default="attention"
        See `HANClassifier`.
    dropout : float, default=0.3
        See `HANClassifier`.
    word_dropout : float, default=0.1
        See `HANClassifier`.
    adversarial_noise : float, default=0.03
        See `HANClassifier`.
    linear_ngrams : tuple of int, default=(1, 3)
        See `HANClassifier`.
    linear_chars : tuple of int, "auto" or None, default="auto"
        See `HANClassifier`.
    optimizer : {"adamw", "adam", "sgd"} or torch.optim.Optimizer class, default="adamw"
        See `HANClassifier`.
    lr : float, default=0.006
        See `HANClassifier`.
    lr_schedule : {"one_cycle", "constant"}, default="one_cycle"
        See `HANClassifier`.
    max_epochs : int or "auto", default="auto"
        See `HANClassifier`.
    batch_size : int or "auto", default="auto"
        See `HANClassifier`.
    validation_fraction : float, default=0.1
        Share of the training documents held out. They decide which epoch's weights are kept
        (highest R2, then lowest loss), the scales of the parts, and how wide intervals are.
        `X_val` replaces them.
    n_iter_no_change : int, default=None
        See `HANClassifier`.
    time_limit : float, default=None
        See `HANClassifier`.
    warm_start : bool, default=False
        Whether `fit` continues from the weights, tokenizer and knots of the last fit.
    random_state : int, RandomState instance or None, default=None
        See `HANClassifier`.
    device : str, default="auto"
        See `HANClassifier`.
    callbacks : list, default=None
        See `HANClassifier`.
    net_params : dict, default=None
        See `HANClassifier`.
    engine : {"auto", "numba", "torch"}, default="auto"
        See `HANClassifier`.
    n_threads : int, default=None
        See `HANClassifier`.
    verbose : int, default=0
        See `HANClassifier`.

    Attributes
    ----------
    knots_ : ndarray of shape (n_knots,)
        The numbers whose probabilities are predicted, from the smallest of y to the largest.
    n_calibration_ : int
        Number of held-out documents by which intervals are calibrated; no part has learnt from
        them.
    model_, tokenizer_, net_, history_, fit_summary_, ...
        As those of `HANClassifier`; scores are R2 in place of accuracy.

    See Also
    --------
    HANClassifier : Labels in place of numbers; ``ordered=True`` for a few ordered classes.

    Notes
    -----
    Predictions are between the smallest and the largest training number. For several numbers a
    document, `sklearn.multioutput.MultiOutputRegressor` fits one model for each.

    References
    ----------
    Imani, White (2018). Improving Regression Performance with Distributional Losses. ICML.

    Farebrother et al. (2024). Stop Regressing: Training Value Functions via Classification for
    Scalable Deep RL. ICML.

    Romano, Patterson, Candes (2019). Conformalized Quantile Regression. NeurIPS.

    Chernozhukov, Wuethrich, Zhu (2021). Distributional Conformal Prediction. PNAS.

    Examples
    --------
    >>> from sk_han import HANRegressor
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> stars = 1 + 4 * (labels == "positive")
    >>> regressor = HANRegressor(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> regressor.fit(texts, stars).predict(texts[:3]).shape
    (3,)
    """

    _without: ClassVar[dict[str, Any]] = {
        "class_weight": None,
        "threshold": 0.5,
        "priors": None,
        "ordered": False,
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **HANEstimator._parameter_constraints,
        "n_bins": to_sklearn(REGRESSOR["n_bins"]),
        "scale": to_sklearn(REGRESSOR["scale"]),
    }

    @suggesting_names
    def __init__(
        self,
        *,
        tokenizer: HierarchicalTokenizer | None = None,
        text_column: str | list[str] | None = None,
        columns: list[str] | dict[str, str | None] | None = None,
        encoder: Any = None,
        encoder_memory: Any = None,
        n_bins: int | str = "auto",
        scale: str = "linear",
        embedding_dim: int = 192,
        embedding_init: Any = "cooccurrence",
        freeze_embedding: bool | int = False,
        word_hidden: int = 48,
        sentence_hidden: int = 48,
        rnn: Any = "gru",
        pooling: Any = "attention",
        dropout: float = 0.3,
        word_dropout: float = 0.1,
        adversarial_noise: float = 0.03,
        linear_ngrams: tuple[int, int] | None = (1, 3),
        linear_chars: tuple[int, int] | str | None = "auto",
        optimizer: str | type[torch.optim.Optimizer] = "adamw",
        lr: float = 0.006,
        lr_schedule: str = "one_cycle",
        max_epochs: int | str = "auto",
        batch_size: int | str = "auto",
        validation_fraction: float | None = 0.1,
        n_iter_no_change: int | None = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        callbacks: list[Any] | None = None,
        net_params: dict[str, Any] | None = None,
        engine: str = "auto",
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.tokenizer = tokenizer
        self.text_column = text_column
        self.columns = columns
        self.encoder = encoder
        self.encoder_memory = encoder_memory
        self.n_bins = n_bins
        self.scale = scale
        self.embedding_dim = embedding_dim
        self.embedding_init = embedding_init
        self.freeze_embedding = freeze_embedding
        self.word_hidden = word_hidden
        self.sentence_hidden = sentence_hidden
        self.rnn = rnn
        self.pooling = pooling
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.adversarial_noise = adversarial_noise
        self.linear_ngrams = linear_ngrams
        self.linear_chars = linear_chars
        self.optimizer = optimizer
        self.lr = lr
        self.lr_schedule = lr_schedule
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.callbacks = callbacks
        self.net_params = net_params
        self.engine = engine
        self.n_threads = n_threads
        self.verbose = verbose

    @property
    def knots_(self) -> NDArray[np.float64]:
        """The numbers whose probabilities are predicted."""
        knots: NDArray[np.float64] = self.model_.target.names
        return knots

    @property
    def n_calibration_(self) -> int:
        """Number of held-out documents by which intervals are calibrated."""
        scores = self.model_.interval_scores
        return 0 if scores is None else len(scores)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Predict intervals that contain the true numbers of a share of the documents.

        Parameters
        ----------
        X : as in `fit`
        coverage : float, default=0.9
            The share, between 0 and 1, of documents like the training documents. It holds on
            average over fits; with 30 held-out documents, the share of one fit varies by 5 points.

        Returns
        -------
        ndarray of shape (n_documents, 2)
            Lower and upper ends.

        Raises
        ------
        ValueError
            If fewer than 19 documents were held out, or too few for this coverage.

        Notes
        -----
        The interval has equal probabilities on both sides of the median of the predicted
        distribution. How large they are is calibrated on the held-out documents, or on `X_val`
        (Chernozhukov et al., 2021). Intervals hold for new groups if `groups` were given. A warm
        start without `X_val` and `partial_fit` hold nothing out, so there are none after them.
        """
        check_is_fitted(self)
        model = self._reading()
        with self._computing():
            return model.intervals(X, coverage)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R2, the share of the variance of y that is explained.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        """
        check_is_fitted(self)
        target, logits = self._score(X)
        true, predicted = target.encode_to_compare(y), target.decide(logits)
        return float(r2_score(true, predicted, sample_weight=sample_weight))
