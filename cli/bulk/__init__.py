"""Import and export of leads."""
