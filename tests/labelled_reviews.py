"""Reviews of three labels each, and the sizes of a network that learns them in seconds."""

import numpy as np
import pytest

from sk_han.datasets import make_reviews

pandas = pytest.importorskip("pandas")

N = 160
TEXTS, OPINIONS = make_reviews(N, random_state=0)
HAS = np.random.RandomState(0).rand(N, 2) < [0.4, 0.2]
Y = pandas.DataFrame(
    {"late": HAS[:, 0], "broken": HAS[:, 1], "good": OPINIONS == "positive"}
).astype(int)
X = [
    text + " It was delivered late." * late + " The screen is broken." * broken
    for text, (late, broken) in zip(TEXTS, HAS.tolist(), strict=True)
]
TRAIN, TEST = slice(0, 120), slice(120, N)
SMALL = {"embedding_dim": 8, "word_hidden": 4, "sentence_hidden": 4, "batch_size": 32}
SMALL |= {"random_state": 0}
