"""Probabilistic classification: the library behind "Classification, Checked".

One module for each chapter; help(prml4.logistic) lists what a chapter teaches:

     1  check               how this book checks itself
     2  separator           linear separators, decisions, fixed bases
     3  gaussian            quadratic and linear discriminant analysis
     4  naive_bayes         factored class-conditionals
     5  exponential_family  linear separators for all of it
     6  least_squares       why regression on labels fails
     7  logistic            logistic regression
     8  irls                Newton's method as reweighted least squares
     9  softmax             several classes
    10  probit              noisy thresholds and wrong labels
    11  glm                 canonical links, generalised linear models
    12  comparison          generative or discriminative?
    13  laplace             a Gaussian at the mode
    14  evidence            model comparison, Occam factor, BIC
    15  bayes_logistic      Bayesian logistic regression
    16  gaussian_process    from weights to functions
    17  gp_laplace          Gaussian process classification by Laplace
    18  ep                  assumed density filtering, expectation propagation
    19  gp_ep               Gaussian process classification by EP

and rooms for what they share:

    models      values that are passed in: likelihoods, links, kernels, data
    numerics    methods that know no statistics
    studies     more of one chapter
    referee     what `check` stands on
    estimators  the models behind scikit-learn's interface, prml4[sklearn]
"""
