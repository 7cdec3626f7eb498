"""The outreach service of the sandbox."""

from sandbox.service.service import Service as Service
