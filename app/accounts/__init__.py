"""Requesters: accounts, one-time sign-in links, browser sessions, the audit trail."""
