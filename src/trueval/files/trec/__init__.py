r"""TREC text: runs and judgments without a header line, and MS MARCO runs of three columns.

A **row** is a line of fields:

    query  ignored          document  rank  score  tag     a run; the tag may be absent, and text may follow it
    query  document         rank                           a run of MS MARCO, or scores instead of ranks
    query  ignored or facet document  grade                judgments
    query  document         grade                          judgments of MS MARCO

- *Kind.* The number of fields on the first row determines the form of a file; the requested kind must agree. Three
columns of a run are ranks where all numbers are integers, from 0 or 1, none twice in a query: the score is then minus
the rank. With any fraction they are scores, and a note says so; other integers are refused. - *Separators.* Spaces,
tabs, vertical tabs and form feeds, any number of them; at the edges of a line too. - *Comments.* A line whose first
character after separators is "#", and a line without fields, is skipped. A "#" inside an id is part of it, and so are
quotes. (trec_eval 10 for separators, comments and text after the tag.) - *Line ends.* "\n" or "\r\n"; "\r" alone where
the text holds no "\n", and refused elsewhere. The last may be absent, but not directly after a score where the first
row has a tag: the score may have lost digits. - *Encoding.* UTF-8, with a byte order mark at the beginning or without;
no control characters (source/encoding.py). - *Numbers.* Scores and grades are decimals; sign, fraction and exponent are
allowed. A score may be inf, not nan. What a double cannot hold is refused if it is too large, and counts as 0, with a
note, if it is too small. Ranks are integers; where one is not, the column is left out, with a note. - *Duplicates.* A
document twice in a query (for a facet, where facets are kept) is refused, by row_checks.py. - *Long rows.* A number
after the score, with more text behind it or no number as the rank, is a space inside an id that moved the fields; text
after the tag that is a whole row has lost its newline. Both are refused. - *Limits.* 64 fields on a line, and the bytes
of a line and of a file that source/line_limits.py names.

Two readers give the same rows for the same text, and tests hold them to that. **regular_reader** reads the text that
nearly all files are, one separator throughout and nothing to skip, part by part and fast: by the compiled **kernel**
where it was built and the fields are visible ASCII and plain decimals, else by polars. It gives up on anything else,
and then **grammar_reader** reads the text whole, makes it regular, and names the line at fault. **row_forms** tells the
columns from the first row, **separators** makes text regular and counts its fields, **long_rows** looks at rows with
too many.
"""
