"""Agreement: how far labels of one hand are those of another, in coefficients, tables and biases."""
