"""How commands run: their context, the rules that they share, and what they do to sequences."""
