"""What a fit returns: frozen, short to print, explained by help()."""

from dataclasses import fields

import numpy as np

LONGEST = 380


class Result:
    """Base of the frozen dataclasses that fits return.

    The docstring of a subclass has one line for each field: its name, its
    shape and what it means.
    """

    def __init_subclass__(cls):
        """Keep @dataclass from writing a repr of its own."""
        cls.__repr__ = Result.__repr__

    def __repr__(self):
        """Shapes of arrays, numbers to six digits, never pages."""
        said = [
            f"{f.name}={_short(getattr(self, f.name))}" for f in fields(self)
        ]
        text = f"{type(self).__name__}({', '.join(said)})"
        return text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"


def _short(value):
    """A shape for an array, a few digits for a number, a name for the rest."""
    if isinstance(value, np.ndarray) and value.ndim:
        return str(value.shape)
    if isinstance(value, float | np.floating | np.ndarray):
        return f"{float(value):.6g}"
    if isinstance(value, tuple | list) and len(value) > 3:
        return f"({len(value)} entries)"
    return getattr(value, "name", None) or repr(value)
