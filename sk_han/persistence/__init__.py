"""Files of models that contain data only: saving, loading, and weights for other programs."""

from sk_han.persistence.exporting import export_safetensors
from sk_han.persistence.loading import load
from sk_han.persistence.onnx import export_onnx
from sk_han.persistence.saving import save

__all__ = ["export_onnx", "export_safetensors", "load", "save"]
