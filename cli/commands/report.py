"""`outreach report`: the client report for a period, as a page, as JSON, or summarized on the terminal."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from cli.commands.run_command import line
from cli.console import card_output, exit_codes
from cli.console.resources import open_context, write_private
from shared.client_report.logo import read_brand
from shared.client_report.model import MOST_REPLIES, ClientReport, report_data, without_leads
from shared.client_report.page import page
from shared.commands import parse
from shared.commands.periods import Period, Report
from shared.operations.reports.report import read_report, summary
from shared.settings import Need, Settings, load
from shared.text.sanitize import visible_lines

STDOUT = "-"


def run(options: Namespace) -> int:
    """Write the page, the data or the summary; the page's path is printed on stderr."""
    asked = parse(line("report", options.words)).arguments
    assert isinstance(asked, Report)
    settings = load(config=options.config, needs=(Need.API,))
    html = options.html
    if html is not None and str(html) != STDOUT and not html.absolute().parent.is_dir():
        raise exit_codes.Failed(f"there is no folder {html.absolute().parent}")
    if html is not None and str(html) == STDOUT and options.json:
        raise exit_codes.WrongUsage("--html - and --json both write to stdout: give one of them a file")
    brand_of = settings.report
    try:
        brand = read_brand(brand_of.name, brand_of.color, brand_of.logo)
    except OSError as error:
        raise exit_codes.WrongUsage(f"[report] logo: {exit_codes.os_error_text(error)}") from None
    made = asyncio.run(_read(asked.period, settings, options))
    made = made if options.with_leads else without_leads(made)
    if html is not None:
        _write(page(made, brand), options)
    if options.json:
        card_output.print_data([report_data(made)])
    elif html is None:
        card_output.show(summary(made))
    return exit_codes.DONE


def _write(text: str, options: Namespace) -> None:
    if str(options.html) == STDOUT:
        card_output.data_output(visible_lines).write(text)
        return
    write_private(options.html, text)
    print(f"Wrote the report to {options.html}.", file=sys.stderr)


async def _read(period: Period, settings: Settings, options: Namespace) -> ClientReport:
    """The data have every positive reply, the page only the first."""
    most = None if options.json else MOST_REPLIES
    async with open_context(settings, settings.workspace(options.workspace)) as context:
        return await read_report(period, context, most=most, named=options.with_leads)
