"""What kind of error does a wrong answer look like?"""

import numpy as np

FACTORS = {-1: "the sign", 2: "a factor 2", 0.5: "a factor ½"}


def resemblance(value, truth):
    """' (a factor 2)' if value = 2 truth, and so on; '' if nothing fits."""
    for c, name in FACTORS.items():
        if np.allclose(value, c * truth, rtol=1e-6, atol=0):
            return f"; it looks like {name}"
    return ""


def diagnose(yours, right, at, terms=None, elsewhere=None):
    """(verdict, text) for yours(*at) against right(*at)."""
    at = at[0] if isinstance(at, list) else at
    truth = np.asarray(right(*at), float)
    try:
        value = yours(*at)
    except NotImplementedError:
        value = None
    if value is None or value is Ellipsis:
        return "not attempted", "the function is still a stub"
    value = np.asarray(value, float)
    if value.shape == truth.shape and np.allclose(value, truth, rtol=1e-8):
        return "right", "your function agrees"
    return "not yet", "your function differs" + resemblance(value, truth)
