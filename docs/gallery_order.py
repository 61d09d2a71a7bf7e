"""The order of the gallery: what a newcomer asks first comes first."""

from pathlib import Path

__all__ = ["ByQuestion"]

ORDER = (
    # Why did it say so?
    "contributions",
    "hops",
    "faithfulness",
    # What has it learnt, and where does it fail?
    "summary",
    "report",
    "several_labels",
    "calibration",
    # How is it trained?
    "learning_curve",
    "training",
    # What does it read?
    "other_languages",
    "word_vectors",
    "sentence_encoder",
    # Its siblings.
    "tagging",
    "translation",
)


class ByQuestion:
    """Sort examples as `ORDER` has them; sphinx-gallery calls it with file names."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __repr__(self):
        return "<ByQuestion>"

    def __call__(self, filename):
        name = Path(filename).stem.removeprefix("plot_")
        if name not in ORDER:
            raise ValueError(f"docs/gallery_order.py has no place for examples/plot_{name}.py.")
        return ORDER.index(name)
