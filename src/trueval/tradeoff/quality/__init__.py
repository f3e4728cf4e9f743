"""Quality of the configurations of a sweep: scores per query, paired resamples, empirical Bayes, Pareto sets."""
