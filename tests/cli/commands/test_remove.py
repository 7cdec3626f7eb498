"""`remove` deletes the lead that was named, whatever custom fields it has."""

from __future__ import annotations

from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from tests.cli.conftest import Shell
from tests.client.scripted_server import Answer, RecordedRequest, open_scripted_server

OTHER = {"id": "ld_other", "email": "bob@x.io"}
CUSTOM = {"ID": "ld_other", "Id": "ld_other", "_id": "ld_other", "leadId": "ld_other", "Email": "bob@x.io"}
ADA = {**CUSTOM, "id": "ld_ada", "email": "ada@x.io", "status": "active", "uid": "ld_other", "data": OTHER}
LEADS: list[dict[str, Any]] = [OTHER, ADA]


@pytest.mark.parametrize("leads", [LEADS, [dict(reversed(lead.items())) for lead in LEADS]])
def test_removing_ignores_custom_fields_called_like_the_id(
    offline: Shell, leads: list[dict[str, Any]]
) -> None:
    def play(asked: RecordedRequest) -> Answer:
        return (
            Answer(body={"data": leads, "next_cursor": None}) if asked.method == "GET" else Answer(status=204)
        )

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_scripted_server()) as server,
    ):
        server.play = play
        offline.set("OUTREACH_BASE_URL", server.base_url)
        assert offline.run("remove", "ada@x.io", "--yes").code == 0
        assert [asked.path for asked in server.asked if asked.method == "DELETE"] == ["/v1/leads/ld_ada"]
