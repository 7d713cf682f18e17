"""The referee's tools: what `prml4.check` stands on.

    estimate   numbers with their error: differences, quadrature, means
    diagnose   what a wrong answer looks like: a sign, a factor, a transpose
    page       the TeX of a display, found by its label
    tex        the grammar of printed formulas: TeX -> statements -> trees
    values     what symbols stand for; columns, matrices, functions
    calculus   derivatives and integrals of what a tree computes
    evaluate   a display with numbers for its symbols

Imports nothing else of prml4. Any module may use `estimate`.
"""
