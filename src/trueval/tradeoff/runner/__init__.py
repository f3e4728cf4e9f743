"""The runner of a sweep: systems built, measured, timed, stored and resumed. Verb: sweep."""
