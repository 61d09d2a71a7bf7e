"""Raw text to words: sentences, words with their offsets, word types, vocabulary."""
