"""
What a translation attends to
=============================

An ``AttentionTranslator`` learns to translate simple German. In a subordinate clause the German
verb is at the end, the English one in the middle: attention must find it.
"""

import random

from sk_han import AttentionTranslator

ADJECTIVES = {"": "", "rote": "red", "kleine": "small", "alte": "old", "laute": "loud"}
NOUNS = {"Katze": "cat", "Frau": "woman", "Stadt": "town", "Blume": "flower", "Gans": "goose"}
VERBS = {"sehen": "see", "malen": "paint", "lieben": "love", "suchen": "seek"}
draw = random.Random(0)


def things():
    """Draw one or two things and their translation."""
    drawn = [
        (draw.choice([*ADJECTIVES.items()]), draw.choice([*NOUNS.items()]))
        for _ in range(draw.randint(1, 2))
    ]
    german = " und ".join(" ".join(["die", *filter(None, [a]), n]) for (a, _), (n, _) in drawn)
    english = " and ".join(" ".join(["the", *filter(None, [a]), n]) for (_, a), (_, n) in drawn)
    return german, english


sources, targets = [], []
for _ in range(1_500):
    subject, thing, verb = things(), things(), draw.choice([*VERBS.items()])
    sources.append(f"Ich weiß, dass {subject[0]} {thing[0]} {verb[0]}.")
    targets.append(f"I know that {subject[1]} {verb[1]} {thing[1]}.")

translator = AttentionTranslator(
    embedding_dim=64, hidden_size=64, lr=0.005, batch_size=32, max_epochs=10, random_state=0
)
translator = translator.fit(sources, targets)

# %%
# A row is a word of the translation; its shades show which source words it attended to.
alignment = translator.attention(
    ["Ich weiß, dass die alte Frau und die Gans die rote Blume suchen."]
)[0]
print(alignment.target_text)
alignment.plot()

# %%
# The same as numbers: the source word that each word of the translation attended to most.
for word, source, weight in alignment.pairs():
    print(f"{word:>8} <- {source} ({weight:.2f})")
