"""Golden sets: relevance labels for the user's own corpus, from an imperfect judge within a budget."""
