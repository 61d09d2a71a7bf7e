"""Files of models that contain data only: saving, loading, and weights for other programs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sk_han.persistence.exporting import export_safetensors
    from sk_han.persistence.loading import load
    from sk_han.persistence.saving import save

__all__ = ["export_safetensors", "load", "save"]

# A process that loads a model imports nothing of what writes one.
_MODULE_OF = {
    "export_safetensors": "exporting",
    "load": "loading",
    "save": "saving",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
