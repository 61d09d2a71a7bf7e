"""Documents of which a part may be in memory: ``from tests.documents_in_portions import ...``."""

import numpy as np

from sk_han.documents.lazy import LazyDocuments

MOST = 500  # documents whose arrays may be asked for at once


class _Bounded:
    """A source that refuses to read many documents at once."""

    def __init__(self, documents, most):
        self.documents, self.most = documents, most

    def __len__(self):
        return len(self.documents)

    def lengths(self, rows):
        whole = self.documents
        return np.column_stack([whole.sentences_per_document, whole.words_per_document])[rows]

    def read(self, rows):
        assert len(rows) <= self.most, f"{len(rows)} documents were read into memory at once"
        return self.documents[rows]


class InPortions(LazyDocuments):
    """Stands for documents on the disk: only lengths are at hand, and arrays of a part."""

    __slots__ = ()

    def __init__(self, whole, most=MOST):
        super().__init__(_Bounded(whole, most), np.arange(len(whole)))
