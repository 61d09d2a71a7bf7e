"""What transformers of texts into documents have in common."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sk_han.utils.files import checked_state

_Transformer = TypeVar("_Transformer", bound="DocumentTransformer")


class DocumentTransformer(TransformerMixin):
    """Mixin for estimators whose `transform` takes raw texts and returns documents.

    `_newest_format` is that of the state in a pickle. It rises when an older release could not read
    the state.
    """

    _newest_format = 1

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # scikit-learn would put the documents into the frame that `set_output` asks for.
        super().__init_subclass__(auto_wrap_output_keys=None, **kwargs)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the one name of what it makes, for the steps after it in a Pipeline."""
        check_is_fitted(self)
        return np.array(["documents"], dtype=object)

    def set_output(self: _Transformer, *, transform: str | None = None) -> _Transformer:
        """Return itself, which a Pipeline asks for tables: documents stay what they are."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_state_format": self._newest_format}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(checked_state(state, self, newest=self._newest_format))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags
