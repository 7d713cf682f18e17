"""All is in pyproject.toml but the page of the package index.

It is README.md, with the words of links that lead to files of the repository:
where there are no files, they would lead nowhere.
"""

import re
from pathlib import Path

from setuptools import setup

README = Path(__file__).with_name("README.md").read_text("utf-8")

setup(
    long_description=re.sub(r"\[([^]]+)\]\((?!https?:)[^)]+\)", r"\1", README),
    long_description_content_type="text/markdown",
)
