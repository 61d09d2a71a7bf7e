"""
Text in German and in Chinese
=============================

The model knows no language in advance: it learns words and their order from your documents. German
puts spaces between words. In a script without spaces, each character is a word, and the n-gram
model reads up to three together. Both languages have generated reviews here.
"""

import numpy as np
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, HierarchicalTokenizer, explain

GERMAN = {
    "gut": ["Das Zimmer war sauber und hell.", "Das Frühstück hat uns sehr gefallen."]
    + ["Nicht ein Mal war es laut.", "Die Leute am Empfang waren freundlich."],
    "schlecht": ["Das Zimmer war klein und dunkel.", "Das Frühstück hat uns nicht gefallen."]
    + ["Jede Nacht war es laut.", "Die Leute am Empfang waren unfreundlich."],
    "": ["Wir kamen am Freitag an.", "Das Haus steht am See.", "Es gibt 40 Betten."],
}
CHINESE = {
    "好": ["房间很干净。", "早餐很好吃。", "晚上很安静。", "服务员非常热情！"],
    "差": ["房间很小,很暗。", "早餐不好吃。", "晚上太吵了。", "服务员一点也不热情。"],
    "": ["我们星期五到的。", "酒店在湖边。", "一共有四十张床。"],
}


def reviews(clauses, between, n=400):
    """Join sentences of an opinion and others to reviews; one in five speaks for the other side."""
    random = np.random.RandomState(0)
    opinions = [name for name in clauses if name]
    texts, labels = [], []
    for number in range(n):
        mine, other = opinions[number % 2], opinions[1 - number % 2]
        said = [
            *random.choice(clauses[mine], 3, replace=False),
            *random.choice(clauses[""], 2, replace=False),
        ]
        if random.rand() < 0.2:
            said.append(random.choice(clauses[other]))
        random.shuffle(said)
        texts.append(between.join(said))
        labels.append(mine)
    return texts, np.array(labels)


def explained(clauses, between):
    """Fit to 300 reviews, and explain the others."""
    texts, labels = reviews(clauses, between)
    model = make_pipeline(HierarchicalTokenizer(), HANClassifier(random_state=0))
    model.fit(texts[:300], labels[:300])
    print(f"accuracy on 100 other reviews: {model.score(texts[300:], labels[300:]):.2f}")
    return explain(model, texts[300:], y_true=labels[300:])


# %%
# German
# ------
# "unfreundlich" (unfriendly) is one word; "nicht gefallen" (not liked) is read as a pair.
german = explained(GERMAN, " ")
german[3]

# %%
# Chinese
# -------
# 不 ("not") reverses 好吃 ("tasty").
chinese = explained(CHINESE, "")
chinese[3]
