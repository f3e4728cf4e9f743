"""What each configuration of a pipeline costs in money, milliseconds and quality, with the uncertainty of each."""
