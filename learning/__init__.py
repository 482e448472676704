"""The learning systems: plain estimators, arrays in and arrays out.

Nothing here knows of the web application, its database or its workers. Import the
module that is needed (``learning.cen``, ``learning.crowdster``, ...): only the ones with
neural networks load torch.
"""
