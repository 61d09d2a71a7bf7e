"""Raw text in; labels, probabilities and explanations out."""

from sklearn.model_selection import train_test_split

from sk_han import HANClassifier
from sk_han.datasets import make_reviews

texts, labels = make_reviews(2000, random_state=0)
train_texts, test_texts, train_labels, test_labels = train_test_split(
    texts, labels, random_state=0, stratify=labels
)

classifier = HANClassifier(random_state=0, verbose=1).fit(train_texts, train_labels)
print(f"accuracy {classifier.score(test_texts, test_labels):.3f}")
print(classifier.classes_, classifier.predict_proba(test_texts[:2]).round(3))
print(classifier.explain(test_texts[:1])[0])
