"""The tradeoff: what each configuration of a pipeline costs in money, milliseconds and quality."""
