"""Documents of which a part may be in memory: ``from tests.documents_in_portions import ...``."""

import numpy as np

from sk_han import DocumentArray

MOST = 500  # documents whose arrays may be asked for at once


class InPortions(DocumentArray):
    """Stands for documents on the disk: only lengths are at hand, and arrays of a part."""

    __slots__ = ("most", "rows", "whole")

    def __init__(self, whole, rows=None, most=MOST):
        self.whole, self.most = whole, most
        self.rows = np.arange(len(whole)) if rows is None else rows

    def _take(self, rows):
        return InPortions(self.whole, self.rows[rows], self.most)

    def __len__(self):
        return len(self.rows)

    @property
    def shape(self):
        return (len(self),)

    @property
    def n_words(self):
        return int(self.words_per_document.sum())

    @property
    def words_per_document(self):
        return self.whole.words_per_document[self.rows]

    @property
    def sentences_per_document(self):
        return self.whole.sentences_per_document[self.rows]

    @property
    def word_ids(self):
        return self._read().word_ids

    @property
    def sentence_starts(self):
        return self._read().sentence_starts

    @property
    def document_starts(self):
        return self._read().document_starts

    def _read(self):
        assert len(self) <= self.most, f"{len(self)} documents were read into memory at once"
        return self.whole[self.rows]
