"""SequenceTagger whole: labels of the tokens of sentences."""

from sk_han.tagging._network import TaggingNetwork, TaggingOptions, TaggingOutput
from sk_han.tagging._tagger import SequenceTagger
from sk_han.tagging._tags import tagged_html, tagged_text

__all__ = [
    "SequenceTagger",
    "TaggingNetwork",
    "TaggingOptions",
    "TaggingOutput",
    "tagged_html",
    "tagged_text",
]
