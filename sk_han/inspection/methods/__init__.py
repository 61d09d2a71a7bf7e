"""How contributions are found: numbers of words and sentences, whatever model they explain."""
