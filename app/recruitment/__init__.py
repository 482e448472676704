"""Recruitment and payment: where annotators come from, and what they are paid."""
