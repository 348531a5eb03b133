"""Large tables as bytes and the places of their cells, without a Python object for each row or word.

`block` holds rows, `cutting` finds them in a file, `remembered` encodes values by what it knows of equal ones, and
`encoder` encodes blocks as `encoding` encodes rows: the same values, bad rows and reasons.
"""
