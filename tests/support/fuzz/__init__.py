"""Random well-typed programs with what they must compute beside them.

`generator.generate(seed)` gives a program: Python text of a `@tw.kernel`, arguments, and an
interpretation in NumPy that knows for every element how far rounding may move it.
"""
