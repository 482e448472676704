"""What keeps the project in order and is not part of the application."""
