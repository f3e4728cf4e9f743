"""What families of measures share: sums and chances over the orders of a tie group."""
