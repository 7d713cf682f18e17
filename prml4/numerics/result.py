"""What a fit returns: frozen, short to print, explained by help()."""

from dataclasses import fields

import numpy as np

LONGEST = 380


class Result:
    """Base of the frozen dataclasses that fits return.

    The docstring of a subclass has one line for each field: its name, its
    shape and what it means. Those of inherited fields are put before them,
    unless it tells all fields again because they mean something else.
    """

    def __init_subclass__(cls):
        """Keep @dataclass from writing a repr; explain inherited fields."""
        cls.__repr__ = Result.__repr__
        if cls.__base__ is not Result and cls.__doc__:
            head, own, *rest = cls.__doc__.split("\n\n")
            table = cls.__base__.__doc__.split("\n\n")[1].rstrip()
            if own.split()[0] != table.split()[0]:
                own = f"{table}\n{own}"
            cls.__doc__ = "\n\n".join([head, own, *rest])

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
