"""`outreach doctor`: is everything in place, and what cures what is not. It changes nothing anywhere."""
