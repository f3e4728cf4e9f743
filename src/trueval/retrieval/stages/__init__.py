"""What a pipeline stands on: its settings, the candidates that it keeps, and what each stage gave."""
