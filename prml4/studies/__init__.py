"""More of one chapter each: what its reader may skip.

    many_rows    more rows than fit in memory, of chapter 8
    goodness     likelihoods, tests and residuals of GLMs, of chapter 11
    incomplete   missing features and missing labels, of chapter 12
    worlds       made worlds of clusters, of chapter 12
    densities    densities with known normalisers, of chapter 13
    precision    the evidence's choice of a prior's precision, of chapter 15
    gp_softmax   several classes, of chapter 17
    clutter      the clutter problem, of chapter 18
    gp_truth     brute force for latent Gaussians, of chapter 19

Imports its chapter and those before; other modules do not import it.
"""
