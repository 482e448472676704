"""The web application: `uvicorn app.main:app`."""

from pathlib import Path

from fastapi import FastAPI
from sqlalchemy import text
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware

from app.accounts import pages as account_pages
from app.accounts import routes as accounts
from app.annotation import pages as annotation_pages
from app.annotation import requester, settings_page
from app.annotation import routes as annotation
from app.annotation.bundles import BUNDLE_TYPE
from app.campaigns import routes as campaigns
from app.collections import media
from app.collections import routes as collections
from app.core import assets
from app.core.middleware import SameOriginWrites, SecurityHeaders
from app.core.problems import install_error_handlers
from app.core.settings import get_settings
from app.core.web import DatabaseSession, templates
from app.results import downloads
from app.results import routes as results

STATIC = Path(__file__).parent / "static"


def create_app() -> FastAPI:
    """The application with all routes; reads settings from the environment."""
    app = FastAPI(
        title="Likewise",
        description="Learns how people see likeness.",
        docs_url=None,
        redoc_url=None,
        max_body_size=get_settings().max_upload_bytes,
    )
    install_error_handlers(app)
    app.add_middleware(SameOriginWrites)
    app.add_middleware(
        GZipMiddleware,
        minimum_size=1000,
        compresslevel=6,
        exclude_content_types=(*DEFAULT_EXCLUDED_CONTENT_TYPES, BUNDLE_TYPE),
    )
    app.add_middleware(SecurityHeaders)
    for router in (
        accounts.router,
        account_pages.router,
        collections.api,
        collections.pages,
        media.router,
        campaigns.api,
        campaigns.pages,
        results.api,
        downloads.api,
        annotation.api,
        annotation_pages.pages,
        requester.api,
        settings_page.pages,
    ):
        app.include_router(router)
    app.add_api_route("/healthz", healthz, methods=["GET"], include_in_schema=False)
    assets.BUILD.mkdir(parents=True, exist_ok=True)
    app.mount("/static", assets.StaticFiles(directory=STATIC), name="static")
    templates.env.globals.update(
        script_of=assets.script_of,
        styles_of=assets.styles_of,
        imports_of=assets.imports_of,
    )
    return app


def healthz(session: DatabaseSession) -> dict[str, str]:
    """Whether the server answers and reaches its database."""
    session.execute(text("SELECT 1"))
    return {"status": "ok"}


app = create_app()
