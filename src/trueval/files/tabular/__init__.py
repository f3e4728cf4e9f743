"""Tables with named columns.

delimited_text reads text with a header line (BEIR's tsv, csv), for which csv_records finds where the records of CSV
begin; typed_tables reads parquet, Arrow and frames in memory, after parquet_sizes and arrow_sizes have checked the
declared sizes.
"""
