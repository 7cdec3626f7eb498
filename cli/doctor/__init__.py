"""`outreach doctor`: checks everything, and says how to fix what fails. It changes nothing."""
