"""Readers of data already in memory.

peers reads dicts, hits and result objects of other libraries; arrays reads matrices, tensors and ragged lists as rows;
ragged makes flat arrays of them, for evaluate_arrays. (Frames are read in tabular/typed.)
"""
