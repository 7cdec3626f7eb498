"""The Model Context Protocol: the tools of `shared.assistants` over stdio and HTTP."""
