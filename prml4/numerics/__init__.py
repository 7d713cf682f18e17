"""Numerical methods that know no statistics.

    special      sigmoid, softmax and the normal law where they would overflow
    newton       damped Newton's method, and its stopping rule
    descent      ways down over many rows or many unknowns
    ascent       a way up where a function may not exist everywhere
    blocks       passes over blocks of rows
    cubature     integrals on dense grids
    sampling     slice sampling
    linalg       symmetric matrices by LAPACK, in place
    separation   is there a hyperplane between two sets? why a fit has no end
    validate     refusals of bad input
    result       what a fit returns: short to print, explained by help()

Imports, besides itself, nothing of prml4. Any module may use it.
"""
