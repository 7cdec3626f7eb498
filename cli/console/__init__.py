"""Output, exit codes, progress and prompts."""
