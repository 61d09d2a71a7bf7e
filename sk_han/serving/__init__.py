"""Prediction without PyTorch, scikit-learn and SciPy, and a web service."""

from typing import TYPE_CHECKING, Any

from sk_han.serving._scorer import Scorer

if TYPE_CHECKING:
    from sk_han.serving._service import create_app

__all__ = ["Scorer", "create_app"]


def __getattr__(name: str) -> Any:
    """Import `create_app` on first use, since it needs the packages of the extra `serve`."""
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sk_han._utils.messages import import_optional

    for package in ("fastapi", "uvicorn"):
        import_optional(package, "serve", name)
    from sk_han.serving._service import create_app

    return create_app
