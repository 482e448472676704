"""How uvicorn is told to serve, wherever it is started."""

# Seconds that a connection is kept open while nobody asks anything. Longer than browsers wait, and
# than proxies keep theirs (Caddy two minutes): whoever closes first loses what is just being sent.
KEEP_ALIVE_SECONDS = 130

OPTIONS = ("--no-access-log", "--timeout-keep-alive", str(KEEP_ALIVE_SECONDS))
