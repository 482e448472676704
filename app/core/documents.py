"""`/docs` shows the guides for requesters, rendered from the Markdown files of `docs/`."""

import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import nh3
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.core.errors import NotFound
from app.core.markdown import TAGS
from app.core.web import templates

pages = APIRouter(include_in_schema=False)
FOLDER = Path(__file__).parents[2] / "docs"
# By the name of the file: the name in the address (`/docs/api` is the OpenAPI document) and the
# title.
GUIDES = {
    "user-guide": ("user-guide", "User guide"),
    "features": ("features", "Features of images"),
    "semicrowd": ("semicrowd", "Semi-crowdsourced clustering"),
    "exports": ("exports", "Exports"),
    "api": ("api-guide", "API and client"),
    "annotator-api": ("annotator-api", "API of the annotators' pages"),
    "glossary": ("glossary", "Glossary"),
}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_LINK = re.compile(r"([\w-]+)\.md(#.*)?")


@pages.get("/docs", response_class=HTMLResponse)
def guides_page(request: Request) -> Response:
    guides = [(f"/docs/{address}", title) for address, title in GUIDES.values()]
    return templates.TemplateResponse(request, "documents/guides.html", {"guides": guides})


def guide_page(request: Request) -> Response:
    """Show the guide that the address names."""
    name = next(
        name for name, (address, _) in GUIDES.items() if request.url.path == f"/docs/{address}"
    )
    context = {"title": GUIDES[name][1], "html": render_guide(name)}
    return templates.TemplateResponse(request, "documents/guide.html", context)


for _address, _ in GUIDES.values():
    pages.get(f"/docs/{_address}", response_class=HTMLResponse)(guide_page)


@lru_cache
def render_guide(name: str) -> str:
    """Return a guide as HTML: headings with the ids that GitHub gives them, links to other guides,
    and no links to files that are no guides. Raises NotFound if the file is not installed."""
    try:
        text = (FOLDER / f"{name}.md").read_text()
    except FileNotFoundError as error:
        raise NotFound("This server was installed without its documentation.") from error
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(text)
    seen: dict[str, int] = {}
    for token, following in pairwise(tokens):
        if token.type == "heading_open":
            token.attrs["id"] = _unused(_slug(following), seen)
        for child in token.children or []:
            _point_at_guides(child)
    return nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=TAGS | HEADINGS,
        attributes={"a": {"href"}, **{heading: {"id"} for heading in HEADINGS}},
        url_schemes={"https", "http", "mailto"},
        link_rel="noopener noreferrer",
    )


def _slug(heading: Token) -> str:
    text = "".join(
        child.content for child in heading.children or [] if child.type in ("text", "code_inline")
    )
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def _unused(slug: str, seen: dict[str, int]) -> str:
    count = seen.get(slug, 0)
    seen[slug] = count + 1
    return f"{slug}-{count}" if count else slug


def _point_at_guides(token: Token) -> None:
    if token.type != "link_open":
        return
    address = str(token.attrs.get("href", ""))
    if "://" in address or address.startswith(("#", "mailto:")):
        return
    link = _LINK.fullmatch(address)
    if link is not None and link[1] in GUIDES:
        token.attrs["href"] = f"/docs/{GUIDES[link[1]][0]}{link[2] or ''}"
    else:
        # For operators and developers, who have the files.
        del token.attrs["href"]
