"""The parts of semi-crowdsourced clustering: a deep mixture that shares z with the crowd.

networks, likelihoods     encoders, decoders and p(o | x)
conjugate, workers        Dirichlet, normal-inverse-Wishart and Beta natural parameters
pair_graph, local         messages of annotations and the local optimum (eqs. 12 and 14)
crowd_groups, start       groups that the crowd's answers make, and where training starts
bayes_engine, scdc_engine training of the two variants
"""
