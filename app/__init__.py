"""The web application: pages, HTTP API, services and database models."""
