"""The requester's pages with names that have no place to break, room, and forms after a reload."""

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import update

from app.campaigns.models import Campaign
from app.campaigns.pages import sections_of
from app.collections.models import Collection, Image
from app.core.database import transaction
from app.results.models import Model
from testbed.builders import an_account
from testbed.system import System
from tests.app.test_insight import a_campaign_with_model
from tests.system.test_dashboard import signed_in

pytestmark = pytest.mark.browser
LONG = "Supercalifragilistic_" + "x" * 120
# Parts that stick out of the page or of their card and cannot be scrolled to there.
STICKING_OUT = """() => {
  const clips = (one) => getComputedStyle(one).overflowX !== 'visible';
  const out = [];
  for (const box of [document.querySelector('main'), ...document.querySelectorAll('.card')]) {
    const edge = box.getBoundingClientRect().right + 1;
    for (const one of box.querySelectorAll('*')) {
      const { right, width } = one.getBoundingClientRect();
      if (width <= 1 || right <= edge || one.closest('svg, option, datalist')) continue;
      let above = one.parentElement;
      while (above !== box && !clips(above)) above = above.parentElement;
      if (above === box) out.push(`${Math.round(right - edge)} px: ${one.outerHTML.slice(0, 120)}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) out.push('the page');
  return out.slice(0, 4);
}"""

# Headings and fields that touch what stands below them.
TOUCHING = """() => {
  const isShown = (one) => one.getBoundingClientRect().height > 1;
  const touching = [];
  for (const one of document.querySelectorAll('main :is(h2, h3, h4, .field)')) {
    let next = one.nextElementSibling;
    while (next && !isShown(next)) next = next.nextElementSibling;
    if (!next || !isShown(one)) continue;
    const [above, below] = [one.getBoundingClientRect(), next.getBoundingClientRect()];
    const isBelow = below.left < above.right && above.left < below.right;
    const gap = below.top - above.bottom;
    if (isBelow && gap < (one.matches('.field') ? 8 : 4))
      touching.push(`${Math.round(gap)} px below ${one.outerHTML.slice(0, 90)}`);
  }
  return touching;
}"""


def name_everything(campaign: Campaign) -> None:
    with transaction() as session:
        session.execute(update(Campaign).values(name=LONG, question=LONG))
        session.execute(update(Collection).values(name=LONG))
        images = session.query(Image).where(Image.collection_id == campaign.collection_id)
        for image in images:
            image.filename = f"{LONG}{image.position:03d}.png"
            image.attributes = {f"attribute{LONG}": f"value{LONG}", "mood": "happy"}
        for model in session.query(Model):
            insight = dict(model.insight or {})
            for attribute in insight.get("attributes", []):
                attribute["low"] = [LONG, *attribute["low"]]
            model.insight = insight


def test_long_names_stay_within_their_pages_which_have_room_and_show_the_chosen_tab(
    browser: Browser, web: System
) -> None:
    owner = an_account(f"{'x' * 60}@{'y' * 60}.example.org")
    campaign = a_campaign_with_model(owner)
    name_everything(campaign)
    sections = [*sections_of(campaign), "annotation"]
    addresses = ["/", "/account", f"/collections/{campaign.collection_id}", "/campaigns/new"]
    addresses += [f"/collections/{campaign.collection_id}/delete", f"/campaigns/{campaign.id}"]
    addresses += [f"/campaigns/{campaign.id}/{name}" for name in sections]
    wrong = {}
    # What fits a phone fits a screen, except for what has a place of its own there.
    for width, some in ((390, addresses), (1440, addresses[:6])):
        page = signed_in(browser, web, owner, width)
        for address in some:
            page.goto(web.base_url + address)
            page.wait_for_timeout(200)
            if problems := page.evaluate(STICKING_OUT) + page.evaluate(TOUCHING):
                wrong[f"{address.rpartition('/')[2]} {width}"] = problems
            tab = page.locator(".tabs [aria-current]")
            if tab.count():
                expect(tab).to_be_in_viewport(ratio=1)
        page.context.close()
    assert not wrong, "\n".join(f"{name}: {line}" for name in wrong for line in wrong[name])


def test_a_reload_after_a_form_does_not_send_it_again(browser: Browser, web: System) -> None:
    page = signed_in(browser, web, an_account())
    page.goto(f"{web.base_url}/account")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    page.get_by_label("New password").fill("a long enough passphrase 17")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your password has been set.")).to_be_visible()
    assert page.url.endswith("/account?done=password")
    # A mistake is shown in reply to the form itself.
    page.get_by_label("Old password").fill("wrong")
    page.get_by_label("New password").fill("short")
    page.locator("form[action='/account/password']").evaluate("form => (form.noValidate = true)")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page).to_have_url(f"{web.base_url}/account")
    before = len(sent)
    page.reload()
    expect(page.get_by_role("alert")).to_have_count(0)
    # It was not set again.
    expect(page.get_by_text("Your password has been set.")).to_have_count(0)
    again = [line for line in sent[before:] if line.startswith("POST")]
    assert again == []
    page.context.close()
