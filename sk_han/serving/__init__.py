"""Prediction where there is no PyTorch, scikit-learn or SciPy, and a web service."""

from typing import TYPE_CHECKING, Any

from sk_han.serving._scorer import Scorer

if TYPE_CHECKING:
    from sk_han.serving._service import create_app

__all__ = ["Scorer", "create_app"]


def __getattr__(name: str) -> Any:
    """Import what needs the extra `serve` when it is asked for."""
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sk_han._utils.messages import import_optional

    for package in ("fastapi", "uvicorn"):
        import_optional(package, "serve", name)
    from sk_han.serving._service import create_app

    return create_app
