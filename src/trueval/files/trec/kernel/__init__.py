"""The compiled reader of regular TREC text; optional."""
