"""theme/terms.py: words of the glossary become links."""

import pytest

from theme import terms


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The log odds are odds.", ("log odds", 4, 12)),
        ("Priors matter", ("prior", 0, 6)),
        ("a map of the MAP", ("MAP", 13, 16)),
        ("prior-free, apriori", None),
        ("", None),
    ],
)
def test_the_first_and_longest_term_is_found(text, found):
    """Whole words, with a plural; capitals as they are in the glossary."""
    assert terms.first_term(text, ["odds", "log odds", "prior", "MAP"]) == found
