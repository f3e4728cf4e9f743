"""Text without a header line: TREC runs and judgments, MS MARCO runs of three columns."""
