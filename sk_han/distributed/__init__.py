"""A stored or fitted model over many machines: documents in collections of Dask."""

from sk_han.distributed.scoring import predict, predict_proba

__all__ = ["predict", "predict_proba"]
