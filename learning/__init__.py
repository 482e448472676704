"""The learning systems are plain estimators that take and return arrays.

Nothing here depends on the web application, its database or its workers. Import the
module that you need (``learning.cen``, ``learning.crowdster``, ...): only the ones with
neural networks load torch.
"""
