"""Questions written from passages by a model, and what they flatter: write_questions and flatters."""
