"""A strict emulator of the Prolific API v1, its participants' site and its webhooks.

It does not depend on any client. Its own models (`models/`), written from Prolific's published
description of the API, check everything that it accepts and sends.
"""
