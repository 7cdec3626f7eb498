"""Prompts that people choose in their assistant, such as the morning review. Pure.

They name tools and say what is wanted; what people fill in is checked, since it becomes part of the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shared.assistants.quoting import NOTICE

_DOMAIN = re.compile(r"(?=.{3,253}\Z)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+", re.IGNORECASE)
_NAME = re.compile(r"[\w.-]{1,64}")


class PromptError(Exception):
    """A prompt that doesn't exist, or that lacks something; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blank:
    """What a person fills in."""

    name: str
    means: str
    example: str
    form: re.Pattern[str]
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A text with blanks in braces."""

    name: str
    title: str
    summary: str
    text: str
    blanks: tuple[Blank, ...] = ()

    def fill(self, given: Mapping[str, str]) -> str:
        """The text with its blanks filled in. Raises `PromptError`."""
        if unknown := given.keys() - {blank.name for blank in self.blanks}:
            raise PromptError(f"{self.title} takes no such argument ({len(unknown)} unknown).")
        filled = {blank.name: _filled(blank, given.get(blank.name, "").strip()) for blank in self.blanks}
        return (
            f"{self.text.format(**filled)}\n\n{NOTICE} Change nothing: say what you would do, and ask first."
        )


def _filled(blank: Blank, value: str) -> str:
    if not value and not blank.required:
        return "the usual one"
    if not blank.form.fullmatch(value):
        raise PromptError(f"{blank.name}: {blank.means}, such as {blank.example}.")
    return value


_WORKSPACE = Blank(
    name="workspace", means="the name of a workspace", example="acme", form=_NAME, required=False
)

PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            name="morning-review",
            title="Morning review",
            summary="What happened since yesterday, which replies wait, and what to do first",
            text=(
                "Review the outreach account of this morning, in the workspace: {workspace}. Read `status`, `replies`, "
                "`inboxes` with the filter unhealthy, `sequences` that are paused, and `stats` of yesterday. Then write "
                "five lines at most: the verdict, the unclaimed replies with the oldest first, what got worse and why, and "
                "the one thing to do first. Give figures, and say what is unknown."
            ),
            blanks=(_WORKSPACE,),
        ),
        Prompt(
            name="paused-domain",
            title="Why is this domain paused?",
            summary="The cause of a domain's pause or bad health, with what to repair",
            text=(
                "Find out why the sending domain {domain} is paused or at risk. Read `domain` for it, `inboxes` of it and "
                "`audit`. Say in this order: its state, the most likely cause with the evidence for it, which DNS records to "
                "repair and how, which sequences are affected, and what to check before it sends again. Don't guess: say "
                "what the data doesn't show."
            ),
            blanks=(Blank(name="domain", means="a sending domain", example="mail.acme.com", form=_DOMAIN),),
        ),
        Prompt(
            name="weekly-client-summary",
            title="Weekly client summary",
            summary="Last week for a client: results, what was done, what comes next",
            text=(
                "Write a summary of last week for the client of this workspace: {workspace}. Read `report` of last week, or "
                "`stats` by sequence of last week where there is none, and `replies` of last week. Write for someone who "
                "doesn't know the tools: results with figures and how sure they are, compared with the week before; what was "
                "changed and why; what comes next. Name no lead, and quote no reply."
            ),
            blanks=(_WORKSPACE,),
        ),
    )
}


def fill(name: str, given: Mapping[str, str]) -> str:
    """The text of a prompt. Raises `PromptError`."""
    if name not in PROMPTS:
        raise PromptError(f"Unknown prompt. There are: {', '.join(PROMPTS)}.")
    return PROMPTS[name].fill(given)
