"""The web application: `uvicorn --factory app.main:served`."""

import gc
import logging
import sys
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware

from app import tables
from app.accounts import pages as account_pages
from app.accounts import routes as accounts
from app.alignments import routes as alignments
from app.annotation import pages as annotation_pages
from app.annotation import requester, settings_page
from app.annotation import routes as annotation
from app.annotation.bundles import BUNDLE_TYPE
from app.archive import routes as archive
from app.campaigns import pages as campaign_pages
from app.campaigns import read_only_routes
from app.campaigns import routes as campaigns
from app.collections import image_routes, import_routes, media
from app.collections import pages as collection_pages
from app.collections import routes as collections
from app.core import api_page, assets, documents, openapi
from app.core.bodies import BodyLimits
from app.core.database import serve_no_annotators
from app.core.logs import REQUESTS, begin_log, log_the_uncaught
from app.core.middleware import (
    KnownHosts,
    OpenToFrames,
    PatientBodies,
    SameOriginWrites,
    SecurityHeaders,
)
from app.core.places import FairShare, refuse_at_once
from app.core.problems import install_error_handlers
from app.core.requests import Requests
from app.core.visits import ReadOnlyViews
from app.core.web import templates
from app.features import set_routes as feature_sets
from app.maps import routes as maps
from app.maps.layout import LAYOUT_TYPE
from app.operations import routes as operations
from app.operations import violations
from app.planning import routes as planning
from app.recruitment import account_routes as channel_accounts
from app.recruitment import entry_routes, link_routes
from app.recruitment import pages as recruitment_pages
from app.recruitment import payment_routes as payments
from app.recruitment import routes as recruitment
from app.recruitment import selected_routes as selected
from app.recruitment.channels.registry import all_channels
from app.results import (
    asked_routes,
    class_label_routes,
    clustering_routes,
    downloads,
    explore_routes,
    label_routes,
    membership_routes,
    progress_routes,
    question_routes,
    type_routes,
)
from app.results import routes as results
from app.results.catalogue import PACKED
from app.webhooks import pages as webhook_pages
from app.webhooks import routes as webhooks
from app.webhooks import schemas as webhook_events

STATIC = Path(__file__).parent / "static"
# A request that came back from the database waits that long for each thread that computes, while
# others wait for the rows that it has locked. Python's own value is 5 ms.
SWITCH_SECONDS = 0.0005


def create_app() -> FastAPI:
    """The application with all routes; reads settings from the environment."""
    app = FastAPI(
        title="Likewise",
        description="Learns which images people perceive as similar, and why.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        generate_unique_id_function=openapi.operation_id,
    )
    openapi.describe_api(app)
    install_error_handlers(app)
    app.add_middleware(BodyLimits, admit=accounts.who_may_send_much)
    app.add_middleware(
        FairShare,
        credential_of=accounts.credential_of,
        owner_of=accounts.owner_of_credential,
    )
    app.add_middleware(ReadOnlyViews)
    app.add_middleware(SameOriginWrites)
    app.add_middleware(OpenToFrames)
    app.add_middleware(
        GZipMiddleware,
        minimum_size=1000,
        compresslevel=6,
        exclude_content_types=(
            *DEFAULT_EXCLUDED_CONTENT_TYPES,
            BUNDLE_TYPE,
            LAYOUT_TYPE,
            *PACKED,
        ),
    )
    app.add_middleware(PatientBodies)
    app.add_middleware(KnownHosts)
    app.add_middleware(SecurityHeaders)
    # The last that is added is the first to see a request.
    app.add_middleware(Requests)
    app.webhooks.include_router(webhook_events.event_router)
    for router in (
        # First, as a request tries one after the other, and most are annotators'.
        annotation.api,
        entry_routes.api,
        operations.router,
        violations.router,
        accounts.router,
        account_pages.router,
        collections.api,
        image_routes.api,
        import_routes.api,
        feature_sets.api,
        collection_pages.pages,
        media.router,
        archive.api,
        archive.pages,
        campaigns.api,
        read_only_routes.api,
        read_only_routes.pages,
        progress_routes.api,
        asked_routes.api,
        results.api,
        explore_routes.api,
        question_routes.api,
        type_routes.api,
        clustering_routes.api,
        membership_routes.api,
        label_routes.api,
        class_label_routes.api,
        alignments.api,
        maps.api,
        downloads.api,
        planning.api,
        *map(entry_routes.session_routes, all_channels()),
        channel_accounts.api,
        recruitment.planning_api,
        recruitment.api,
        payments.api,
        selected.api,
        link_routes.api,
        recruitment.people_api,
        entry_routes.hooks,
        entry_routes.link_pages,
        annotation_pages.pages,
        entry_routes.platform_pages,
        recruitment_pages.pages,
        requester.api,
        settings_page.pages,
        webhooks.api,
        webhook_pages.pages,
        api_page.pages,
        documents.pages,
        # Last of the pages: its addresses end in a name of a section.
        campaign_pages.pages,
        progress_routes.pages,
    ):
        app.include_router(router)
    assets.BUILD.mkdir(parents=True, exist_ok=True)
    app.mount("/static", assets.StaticFiles(directory=STATIC), name="static")
    templates.env.globals.update(
        script_of=assets.script_of,
        styles_of=assets.styles_of,
        imports_of=assets.imports_of,
    )
    return app


app = create_app()


def served() -> FastAPI:
    """What uvicorn serves (`--factory`); also makes its lines in the log like all others."""
    return _prepared_app("web")


def served_heavy() -> FastAPI:
    """The same for the process of heavy requests (app/core/heavy.py). The other one counts and
    logs them all."""
    serve_no_annotators()
    refuse_at_once()
    logging.getLogger(REQUESTS).disabled = True
    return _prepared_app("web-heavy")


def _prepared_app(process: str) -> FastAPI:
    begin_log(process)
    sys.setswitchinterval(SWITCH_SECONDS)
    # What lives as long as the process is not gone through again and again for what could go:
    # every request would wait for that, a fifth of a second at a time.
    gc.collect()
    gc.freeze()
    gc.enable()
    log_the_uncaught()
    return app


# Services answer hooks of other rooms.
__all__ = ["app", "create_app", "served", "served_heavy", "tables"]
