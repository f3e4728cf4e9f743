"""JSON: one value for a whole file, or an object on each line.

document reads the one, lines the other; pairs reads the small files beside runs and judgments, which may also be an id
and a value on each line; members tells where in a text a key is, for error messages.
"""
