"""AttentionTranslator whole: translations of short texts."""

from sk_han.translation.alignment import Alignment
from sk_han.translation.network import AttentionSeq2Seq, Seq2SeqOutput
from sk_han.translation.translator import AttentionTranslator

__all__ = [
    "Alignment",
    "AttentionSeq2Seq",
    "AttentionTranslator",
    "Seq2SeqOutput",
]
