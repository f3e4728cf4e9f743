"""Generation: answers made from chosen contexts, what each context is worth, and what distractors do."""
