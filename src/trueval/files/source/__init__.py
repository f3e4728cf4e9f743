"""Sources of bytes, before the format is known.

content reads a path, standard input or an open file; packing unpacks gzip and zstd; limits say how much a file may ask
for; lines cuts large text into parts; encoding refuses bytes that are not UTF-8 text with lines.
"""
