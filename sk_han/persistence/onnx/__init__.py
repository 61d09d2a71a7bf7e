"""A classifier as a graph of ONNX operators, with its rules for reading text beside it."""

from sk_han.persistence.onnx.exporting import export_onnx

__all__ = ["export_onnx"]
