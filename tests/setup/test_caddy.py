"""The Caddyfile, read and held against docker-compose.yml and the code (no Caddy needed)."""

import asyncio
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.core.headers import HSTS
from app.core.settings import Settings
from testbed.servers import ROOT
from tests.setup.test_compose import REQUIRED, dockerfile, interpolated
from tests.support.deployment import commands

VARIABLE = re.compile(r"\{\$(\w+)(?::([^}]*))?\}")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    defined: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return defined


def caddyfile() -> str:
    """Without comments."""
    return re.sub(r"^\s*#.*$", "", (ROOT / "Caddyfile").read_text(), flags=re.MULTILINE)


def default_of(setting: str) -> str:
    return str(Settings.model_fields[setting].default)


def test_braces_are_balanced() -> None:
    depth = 0
    for line in VARIABLE.sub("", caddyfile()).splitlines():
        depth += line.count("{") - line.count("}")
        assert depth >= 0, line
    assert depth == 0


def test_its_variables_come_from_compose_or_have_the_code_s_defaults(
    services: dict[str, Any],
) -> None:
    defaults = dict(VARIABLE.findall(caddyfile()))
    assert defaults == {
        "LIKEWISE_DOMAIN": "localhost",
        "LIKEWISE_MAX_UPLOAD_BYTES": default_of("max_upload_bytes"),
        "LIKEWISE_UPSTREAM": urlsplit(default_of("base_url")).netloc,
        "LIKEWISE_TRUSTED_PROXIES": "",
    }
    assert set(services["front"]["environment"]) == set(defaults)
    # What comes from outside believes nobody.
    assert set(services["caddy"]["environment"]) == set(defaults) - {"LIKEWISE_TRUSTED_PROXIES"}


def test_it_leads_to_all_web_servers(services: dict[str, Any]) -> None:
    """By the names of their containers, which Compose makes of project, service and number."""
    assert "reverse_proxy {$LIKEWISE_UPSTREAM:" in caddyfile()
    assert services["web"]["command"] == ["serve"]
    [listens] = [
        parameter.default for parameter in commands()["serve"].params if parameter.name == "port"
    ]
    assert str(listens) == dict(dockerfile())["EXPOSE"]
    for name in ("front", "caddy"):
        upstreams = interpolated(services[name]["environment"]["LIKEWISE_UPSTREAM"], REQUIRED)
        expected = [f"likewise-web-{number}:{listens}" for number in range(1, 9)]
        assert upstreams.split() == expected
        text = services[name]["environment"]["LIKEWISE_UPSTREAM"]
        elsewhere = {**REQUIRED, "LIKEWISE_UPSTREAM": "10.0.0.11:8000 10.0.0.12:8000"}
        assert interpolated(text, elsewhere) == "10.0.0.11:8000 10.0.0.12:8000"


def test_http_is_served_where_compose_publishes_it(services: dict[str, Any]) -> None:
    site = services["front"]["environment"]["LIKEWISE_DOMAIN"]
    [published] = services["front"]["ports"]
    assert site == f"http://:{published.rpartition(':')[2]}"
    # The networks whose word Likewise itself takes.
    believed = interpolated(services["web"]["environment"]["FORWARDED_ALLOW_IPS"], {}).split(",")
    trusted = interpolated(services["front"]["environment"]["LIKEWISE_TRUSTED_PROXIES"], {})
    assert trusted.split() == believed


def test_it_neither_holds_back_events_nor_keeps_requests_that_nobody_waits_for() -> None:
    for directive in ("encode", "flush_interval", "response_buffers", "buffer_responses"):
        assert not re.search(rf"\b{directive}\b", caddyfile())


def test_the_log_of_errors_names_nobody() -> None:
    for field in ("uri", "headers", "remote_ip", "client_ip"):
        assert f"request>{field} delete" in caddyfile()


def test_the_address_caddy_saw_is_believed_and_no_other(services: dict[str, Any]) -> None:
    trusted = interpolated(services["web"]["environment"]["FORWARDED_ALLOW_IPS"], {})

    def seen(peer: str) -> tuple[str, str]:
        """Scheme and address of the client, as Likewise is told."""
        scopes: list[tuple[str, str]] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            scopes.append((scope["scheme"], scope["client"][0]))

        headers = [(b"x-forwarded-proto", b"https"), (b"x-forwarded-for", b"203.0.113.9")]
        scope: Any = {"type": "http", "scheme": "http", "client": (peer, 1), "headers": headers}
        front: Any = ProxyHeadersMiddleware(app, trusted_hosts=trusted)
        asyncio.run(front(scope, None, None))
        return scopes[0]

    for of_docker in ("172.18.0.7", "192.168.16.3", "127.0.0.1"):
        assert seen(of_docker) == ("https", "203.0.113.9")
    assert seen("198.51.100.4") == ("http", "198.51.100.4")


def test_browsers_are_told_to_come_by_https_as_likewise_tells_them() -> None:
    lines = [line.split(maxsplit=3) for line in caddyfile().splitlines()]
    headers = [line[3] for line in lines if line[2:3] == [">Strict-Transport-Security"]]
    assert headers == [f'"{HSTS}"']
    assert re.search(r"@named {\s+protocol https\s+not host localhost\s+}", caddyfile())


def test_versions_and_ciphers_of_tls_are_caddy_s_own() -> None:
    for directive in ("tls", "protocols", "ciphers", "curves", "auto_https", "local_certs"):
        assert not re.search(rf"\b{directive}\b", caddyfile()), directive
    assert "http://" not in caddyfile()
