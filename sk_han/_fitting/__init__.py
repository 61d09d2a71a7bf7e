"""One fit of a classifier, from the user's data to a pool of parts."""
