"""The simulated campaign: sends, responses, health reviews."""
