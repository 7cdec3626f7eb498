"""The outreach service of the document, whole: an independent reading that shares no code with the client."""

from sandbox.service.service import Service

__all__ = ["Service"]
