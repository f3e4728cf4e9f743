"""Research: simulations that papers need and users do not, run from a checkout."""
