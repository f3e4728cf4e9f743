"""The frontier: which configurations are on it, and which one to ship under a rule. Verb: frontier."""
