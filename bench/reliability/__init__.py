"""The acceptance tests at full size, and the report of what they showed."""
