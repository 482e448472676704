"""Stand-ins for recruiting platforms. Any client can talk to them."""
