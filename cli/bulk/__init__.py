"""Leads in bulk: a CSV file of any make into a sequence, and leads out to a file."""
