"""Tables with named columns.

delimited reads text with a header line (BEIR's tsv, csv), for which records finds where the records of csv begin; typed
reads parquet, Arrow and frames in memory, once parquet_sizes and arrow_sizes have looked at what a file asks for.
"""
