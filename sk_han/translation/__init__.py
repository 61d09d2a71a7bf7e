"""AttentionTranslator, which translates short texts, with its network and alignments."""

from sk_han.translation._alignment import Alignment
from sk_han.translation._network import AttentionSeq2Seq, Seq2SeqOutput
from sk_han.translation._translator import AttentionTranslator

__all__ = [
    "Alignment",
    "AttentionSeq2Seq",
    "AttentionTranslator",
    "Seq2SeqOutput",
]
