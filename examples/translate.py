"""Learn to translate made-up German, and draw where each word of a translation looked.

The picture needs the extra `plot`: pip install ".[plot]" in a clone.
"""

import random

from matplotlib import pyplot as plt

from sk_han import AttentionTranslator

ADJECTIVES = {"": "", "rote": "red", "kleine": "small", "alte": "old", "laute": "loud"}
NOUNS = {"Katze": "cat", "Frau": "woman", "Stadt": "town", "Blume": "flower", "Gans": "goose"}
VERBS = {"sehen": "see", "malen": "paint", "lieben": "love", "suchen": "seek"}
draw = random.Random(0)


def things() -> tuple[str, str]:
    """Draw one to three things with their translation."""
    drawn = [
        (draw.choice([*ADJECTIVES.items()]), draw.choice([*NOUNS.items()]))
        for _ in range(draw.randint(1, 3))
    ]
    german = " und ".join(" ".join(["die", *filter(None, [a]), n]) for (a, _), (n, _) in drawn)
    english = " and ".join(" ".join(["the", *filter(None, [a]), n]) for (_, a), (_, n) in drawn)
    return german, english


sources, targets = [], []
for _ in range(1500):
    subject, thing, verb = things(), things(), draw.choice([*VERBS.items()])
    # In German the verb of a subordinate clause stands at its end.
    sources.append(f"Ich weiß, dass {subject[0]} {thing[0]} {verb[0]}.")
    targets.append(f"I know that {subject[1]} {verb[1]} {thing[1]}.")

translator = AttentionTranslator(
    embedding_dim=64, hidden_size=64, lr=0.005, batch_size=32, random_state=0, verbose=1
)
translator.fit(sources, targets)

text = "Ich weiß, dass die alte Frau und die Gans die rote Blume suchen."
alignment = translator.attention([text])[0]
print(alignment.target_text)
for word, source, weight in alignment.pairs():
    print(f"{word:>8} <- {source} ({weight:.2f})")
alignment.to_html("alignment.html")
alignment.plot()
plt.savefig("alignment.png", dpi=100, bbox_inches="tight")
