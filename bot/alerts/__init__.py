"""What each event looks like as an alert, and which channels get it."""
