"""Evidence: the long simulations, enumerations and kills of tests/, run part by part and recorded in docs/evidence/."""
