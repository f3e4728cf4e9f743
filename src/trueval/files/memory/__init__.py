"""What is in memory already: dicts, frames, arrays, objects of other libraries."""
