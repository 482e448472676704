"""A strict stand-in for the Prolific API v1, its participants' site and its webhooks.

It knows nothing of any client. What it accepts and sends is checked by its own models
(`models/`), written from the facts of Prolific's published description of the API.
"""
