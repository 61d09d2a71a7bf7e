"""From raw text to words: sentences, words with offsets, word types, vocabularies, encoders."""
