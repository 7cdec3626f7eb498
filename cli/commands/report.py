"""`outreach report`: the client report for a period, as JSON or summarized on the terminal."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from cli.commands.run_command import line
from cli.console import card_output, exit_codes
from cli.console.resources import open_context
from shared.commands import parse
from shared.commands.report import MOST_REPLIES, Made, Report, read_report, report_data, summary
from shared.commands.times import Period
from shared.settings import Need, Settings, load


def run(options: Namespace) -> int:
    """Print the data or the summary."""
    asked = parse(line("report", options.words)).arguments
    assert isinstance(asked, Report)
    settings = load(config=options.config, needs=(Need.API,))
    made = asyncio.run(_read(asked.period, settings, options))
    if options.json:
        card_output.print_data([report_data(made, with_leads=options.with_leads)])
    else:
        card_output.show(summary(made))
    return exit_codes.DONE


async def _read(period: Period, settings: Settings, options: Namespace) -> Made:
    """The data have every positive reply; the summary only counts them."""
    most = None if options.json else MOST_REPLIES
    async with open_context(settings, settings.workspace(options.workspace)) as context:
        return await read_report(period, context, most=most, named=options.with_leads)
