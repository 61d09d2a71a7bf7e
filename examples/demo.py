"""What `make demo` runs: train on the embedded reviews, compare, explain.

Prints the accuracy beside TF-IDF + LogisticRegression, explains two reviews in the terminal and
writes reviews.html.
"""

from time import perf_counter

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, HierarchicalTokenizer, explain
from sk_han.datasets import make_reviews

texts, labels = make_reviews(2000, random_state=0)
train_texts, test_texts, train_labels, test_labels = train_test_split(
    texts, labels, test_size=0.25, random_state=0, stratify=labels
)
print("Generated reviews, in which the order of words decides and not the words alone.")
print(f"{len(train_texts)} reviews to train on, {len(test_texts)} to test; the first one:\n")
print(f"  {train_labels[0]}: {train_texts[0]}\n")

han = make_pipeline(HierarchicalTokenizer(), HANClassifier(random_state=0, verbose=1))
linear = make_pipeline(
    TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2), LogisticRegression(C=10)
)
rows = []
for name, model in [("TF-IDF + LogisticRegression", linear), ("HANClassifier", han)]:
    start = perf_counter()
    model.fit(train_texts, train_labels)
    seconds = perf_counter() - start
    rows.append(f"{name:28}{model.score(test_texts, test_labels):8.3f}{seconds:10.1f}")
print(f"\n{'':28}accuracy   seconds", *rows, sep="\n")

print("\nWhat each word did for the label that was predicted, in two reviews of the test set:\n")
explanations = explain(han, test_texts[:20])
print(explanations[:2])
explanations.to_html("reviews.html")
print("\nTwenty of them, coloured, are in reviews.html: open it in a browser.")
