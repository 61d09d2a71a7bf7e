"""Learn from the vectors of sentences, and draw which sentences decided.

Nothing is downloaded here: the vectors are learnt from the letters themselves. Give
SentenceEmbedder a SentenceTransformer, and it knows more than the texts tell. Prints a score and
an explanation, and writes sentences.html.
"""

import random

from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, SentenceEmbedder, explain

THINGS = ["room", "breakfast", "bed", "view", "garden", "staff", "bath", "lift"]
TOLD = {
    "returns": ["The {} was lovely.", "We liked the {} very much.", "What a {}! We will be back."],
    "leaves": ["The {} was dirty.", "We had to complain about the {}.", "Never again such a {}."],
}
OTHERS = [
    "We came by train on {}.",
    "My brother booked for {}.",
    "It rained on {}.",
    "There was a wedding on {}.",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def letters(n: int, rng: random.Random) -> tuple[list[str], list[str]]:
    """Give letters of guests: one or two sentences tell whether they return, others do not."""
    texts, labels = [], []
    for _ in range(n):
        label = rng.choice(sorted(TOLD))
        told = [
            rng.choice(TOLD[label]).format(rng.choice(THINGS)) for _ in range(rng.choice([1, 2]))
        ]
        others = [rng.choice(OTHERS).format(rng.choice(DAYS)) for _ in range(rng.randrange(2, 6))]
        sentences = told + others
        rng.shuffle(sentences)
        texts.append(" ".join(sentences))
        labels.append(label)
    return texts, labels


def main() -> None:
    rng = random.Random(0)
    texts, labels = letters(300, rng)
    pipeline = make_pipeline(SentenceEmbedder(random_state=0), HANClassifier(random_state=0))
    pipeline.fit(texts, labels)
    unseen, truth = letters(100, rng)
    print(f"accuracy on unseen letters: {pipeline.score(unseen, truth):.2f}")
    explanation = explain(pipeline, unseen[:1])[0]
    print(explanation)
    explanation.to_html("sentences.html")


if __name__ == "__main__":
    main()
