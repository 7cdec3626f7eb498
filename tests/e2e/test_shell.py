"""The shell as a process: a pipe that is closed, a terminal that is asked, and signals."""

from __future__ import annotations

import asyncio
import os
import pty

import pytest

from tests.kit import Account, Shell

pytestmark = pytest.mark.usefixtures("real_time")


async def test_a_closed_pipe_is_not_a_failure(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    front, back = os.pipe()
    os.close(front)  # like `| head`, which leaves before the last line
    async with shell.start("leads", "--json", stdout=back) as process:
        os.close(back)
        _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 1)])
async def test_removing_asks_on_a_terminal(account: Account, shell: Shell, answer: str, code: int) -> None:
    shell.use(account.environ)
    address = "ask@shell.example.com"
    assert (await shell.type("add", address, "to", "Fintech")).code == 0
    front, back = pty.openpty()
    try:
        async with shell.start("remove", address, stdin=back, stderr=back) as process:
            seen = ""
            while "[y/N]" not in seen:
                seen += (await asyncio.to_thread(os.read, front, 4096)).decode()
            os.write(front, f"{answer}\n".encode())
            out, _ = await process.communicate()
    finally:
        os.close(front)
        os.close(back)
    assert address in seen
    assert (process.returncode, b"Removed " in out) == (code, answer == "y")
    assert (await shell.type("lead", address)).code == (1 if answer == "y" else 0)
