"""Guardrails: a sentence is a rule, the activity of a workspace is what is stored of it, and an evaluation says where a rule holds. Pure."""
