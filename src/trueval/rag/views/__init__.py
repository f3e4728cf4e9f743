"""How answers, sensitivity and the numbers beside a mean look."""
