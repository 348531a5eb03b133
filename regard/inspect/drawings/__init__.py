"""Drawings: one part of kind `drawing` for each layout, with its data, marks, lines in the terminal and words.

    drawing    the base classes: `Drawing`, the content of a group of marks, and `TracedDrawing`, what a trace holds
    seen       the base class of drawings of inputs that are not texts: images, video, series, points in a plane

A file `NAME.py` holds the drawing `NAME`; where it is long, `NAME_svg.py` places its marks, and
`NAME_terminal.py` writes its lines. Nothing outside names a drawing: figures, pages, comparisons and the terminal ask
the registry.
"""
