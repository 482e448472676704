"""How uvicorn is told to serve, wherever it is started."""

# Seconds that a connection is kept open while nobody asks anything. Longer than browsers wait, and
# than proxies keep theirs (Caddy two minutes): whoever closes first loses what is just being sent.
KEEP_ALIVE_SECONDS = 130

OPTIONS = ("--no-access-log", "--timeout-keep-alive", str(KEEP_ALIVE_SECONDS))

# glibc gives threads heaps of their own, sixteen on two cores, and each keeps what its largest
# request took: 20,000 hostile requests grow two heaps by 2 %, sixteen by 7 %.
VARIABLES = {"MALLOC_ARENA_MAX": "2"}
