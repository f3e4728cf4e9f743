"""Tables with named columns: BEIR tsv, csv, parquet, Arrow."""
