"""What campaigns tell and ask the rooms above them (see `app.core.hooks`)."""

from uuid import UUID

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.hooks import Hook

# A campaign has started. The caller holds its row lock, as for all that follow.
started: Hook[[Session, Campaign], None] = Hook("campaigns.started")
# A campaign was paused.
paused: Hook[[Session, UUID], None] = Hook("campaigns.paused")
# A campaign has ended.
ended: Hook[[Session, UUID], None] = Hook("campaigns.ended")
# An account may change a campaign no more.
edit_ended: Hook[[Session, UUID, UUID], None] = Hook("campaigns.edit_ended")
# The reward may have changed; the last argument is the one before.
reward_changed: Hook[[Session, Campaign, int], None] = Hook("campaigns.reward_changed")
# SQL: the row of `Grid` has been handed out at least once.
handed_out: Hook[[], ColumnElement[bool]] = Hook("campaigns.handed_out")
# Why the newest model is good enough by the campaign's settings; None while it is not.
reason_to_end: Hook[[Session, Campaign], str | None] = Hook("campaigns.reason_to_end")
