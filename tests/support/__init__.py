"""What tests share: servers, builders, the running system."""
