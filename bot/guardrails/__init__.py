"""Guardrails: what is known of the account, which rules fire, what they pause, and the cards that say so."""
