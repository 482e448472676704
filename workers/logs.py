"""What the dispatcher writes to the terminal."""

import logging


def begin_log() -> None:
    """Everything from INFO on, but no line for each request to a platform: addresses hold ids of
    people's work."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    for name in ("httpx", "httpcore", "botocore", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
