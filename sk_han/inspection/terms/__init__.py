"""What a model says over many documents, by words and n-grams."""
