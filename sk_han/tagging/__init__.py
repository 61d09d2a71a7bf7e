"""SequenceTagger, which labels the tokens of sentences, with its network and renderings."""

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
