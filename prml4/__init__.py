"""prml4: the library behind "Classification, Checked".

One module for each chapter of the book, and a few that serve them all; a
chapter's module imports earlier chapters and support modules, never later
ones. Nothing is imported here, so that one pays only for what is used:

    from prml4 import logistic
"""
