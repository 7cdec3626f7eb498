"""Guardrails: a sentence is a rule, stored counts are the evidence, and an evaluation says where a rule holds. Pure."""
