"""Requests and responses: transport, retries, rate limit."""
