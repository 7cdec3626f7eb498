"""Command lines: words, options and help."""
