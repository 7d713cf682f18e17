"""What models are built of: values that are passed in, and data.

    likelihoods  p(t | a) of a 0/1 target, with derivatives and averages
    averages     Gaussian averages of such likelihoods
    dispersion   exponential dispersion models and links
    families     members of the exponential family
    kernels      covariance functions
    bases        basis functions
    covariance   covariance matrices, shrunk, and their factors
    data         the data sets of the book

Imports `numerics`. Any chapter may use it.
"""
