"""The outreach service, to the letter of its document."""
