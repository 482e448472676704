"""What becomes of what a platform was to be told."""

from sqlalchemy import select

from app.core.database import transaction
from app.recruitment import calls
from app.recruitment.models import ChannelCall, Posting, Recruitment
from app.recruitment.steps import work_once
from testbed.builders import a_campaign, a_recruitment, an_account


def test_places_that_could_not_be_published_are_given_up_once(
    environment: dict[str, str],
) -> None:
    owner = an_account()
    recruitment = a_recruitment(owner, a_campaign(owner), places=1)
    with transaction() as session:
        row = session.get_one(Recruitment, recruitment.id)
        # Five more in a further study, and ten more in that one before it was published.
        row.state, row.places = "open", 1 + 5 + 10
        ended = Posting(
            recruitment_id=recruitment.id, number=1, places=1, state="closed", external_id="STUDY"
        )
        refused = Posting(recruitment_id=recruitment.id, number=2, places=5 + 10)
        session.add_all([ended, refused])
        session.flush()
        publish = calls.ask(session, row, "publish", posting=refused)
        calls.ask(session, row, "extend", posting=refused, places=10, total=15)
        calls.fail(session, publish, "Prolific refused it.")
    while work_once():
        continue
    with transaction() as session:
        assert session.get_one(Recruitment, recruitment.id).places == 1
        states = session.scalars(select(ChannelCall.state)).all()
    assert states == ["failed", "failed"]
