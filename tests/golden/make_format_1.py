"""Make the golden file of format 1, once: `python tests/golden/make_format_1.py`.

Files of a format that is out are never made anew: the test is that they keep loading.
"""

import json
from pathlib import Path

import sk_han

HERE = Path(__file__).parent
TEXTS = [
    "A fine film. The cast is a joy!",
    "Dull. A dull, long film.",
    "What a joy: a fine cast.",
    "The film is long. I left.",
    "Un film très long… The cast left!",
]
LABELS = ["good", "bad", "good", "bad", "bad"]
UNSEEN = ["A long film, a fine joy. I left the zoo.", "", "Zebra!"]


def main():
    classifier = sk_han.HANClassifier(
        embedding_dim=5,
        word_hidden=3,
        sentence_hidden=2,
        attention_dim=4,
        lr=0.05,
        max_epochs=20,
        class_weight={"good": 2.0, "bad": 1},
        net_params={"module__max_words": 50},
        early_stopping=False,
        random_state=0,
        device="cpu",
    )
    classifier.fit(TEXTS * 3, LABELS * 3)
    sk_han.save(classifier, HERE / "format_1.han")
    expected = {
        "texts": TEXTS + UNSEEN,
        "probabilities": classifier.predict_proba(TEXTS + UNSEEN).tolist(),
        "word_attention": [e.word_attention.tolist() for e in classifier.explain(TEXTS + UNSEEN)],
        "word_spans": [e.word_spans.tolist() for e in classifier.explain(TEXTS + UNSEEN)],
    }
    text = json.dumps(expected, indent=1, ensure_ascii=False)
    (HERE / "format_1.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
