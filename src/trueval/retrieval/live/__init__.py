"""Live retrievers: engines and objects that answer, asked for the lists of every query (`retrieve_live`)."""
