"""export_safetensors: the weights for programs that use neither scikit-learn nor sk_han."""

from __future__ import annotations

import hashlib
import json
import os

import numpy as np
from sklearn.utils.validation import check_is_fitted

import sk_han
from sk_han.classifier import HANClassifier
from sk_han.utils.atomic_write import replacing
from sk_han.utils.optional import import_optional


def export_safetensors(classifier: HANClassifier, path: str | os.PathLike[str]) -> None:
    """Export the weights of a fitted classifier in the safetensors format.

    For exchange with other programs. To load the classifier again, use `save`: labels, vocabulary
    and parameters are not in this file.

    Parameters
    ----------
    classifier : HANClassifier
        Fitted; of a Pipeline, its last step ``pipeline[-1]``.
    path : str or path-like
        The file, by convention with the ending ``.safetensors``. An existing file is replaced
        only when the new one is complete.

    Raises
    ------
    ModuleNotFoundError
        If the package safetensors is missing.
    TypeError
        If `classifier` is no HANClassifier.
    sklearn.exceptions.NotFittedError
        If the classifier is not fitted.

    Notes
    -----
    Weights are named as in the ``state_dict`` of `HierarchicalAttentionNetwork`. The metadata
    has ``sk_han``, the version; ``network``, the argument of ``from_plain`` as JSON; and
    ``sha256`` of the bytes of all weights (float32, little-endian) in the alphabetical order of
    their names, since safetensors has no checksum of its own.

    Examples
    --------
    >>> import json
    >>> from safetensors import safe_open  # doctest: +SKIP
    >>> from sk_han.nn import HierarchicalAttentionNetwork
    >>> export_safetensors(classifier, "reviews.safetensors")  # doctest: +SKIP
    >>> with safe_open("reviews.safetensors", "pt") as file:  # doctest: +SKIP
    ...     described = json.loads(file.metadata()["network"])
    ...     network = HierarchicalAttentionNetwork.from_plain(described)
    ...     network.load_state_dict({name: file.get_tensor(name) for name in file.keys()})
    """
    safetensors = import_optional("safetensors.numpy", "safetensors", "export_safetensors")
    if not isinstance(classifier, HANClassifier):
        raise TypeError(
            f"export_safetensors takes a HANClassifier; got {type(classifier).__name__}. Of a "
            "Pipeline, pass its last step pipeline[-1]."
        )
    check_is_fitted(classifier)
    net = classifier.net_  # read once: another thread may refit the classifier
    weights = {
        name: np.ascontiguousarray(weight, dtype="<f4") for name, weight in net.weights.items()
    }
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(weights[name].data)
    metadata = {
        "sk_han": sk_han.__version__,
        "network": json.dumps(net.module_.to_plain()),
        "sha256": digest.hexdigest(),
    }
    content = safetensors.save(weights, metadata)
    with replacing(path) as file:
        file.write(content)
