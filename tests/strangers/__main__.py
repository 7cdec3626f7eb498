"""Run other people's Slack apps against the stand-in: `python -m tests.strangers FOLDER …`.

Each folder is one of a checkout: `examples` of github.com/slackapi/bolt-python, `integration_tests/samples` of
github.com/slackapi/python-slack-sdk. The apps run unchanged but for the SDK's default address. They want port 3000, and
those on a web framework want it installed; nothing is fetched. The table is that of docs/measurements.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

from outreach_ops.testing import Slack
from outreach_ops.testing.process import running
from tests.strangers.examples import examples
from tests.strangers.trial import Trial


def main(folders: list[str]) -> int:
    if not folders:
        print(__doc__)
        return 2
    good = tried = 0
    with running("slack-standin") as announcement:
        slack = Slack(announcement)
        for example in (one for folder in folders for one in examples(Path(folder))):
            if example.left_out:
                print(f"  left out  {example.name}: {example.left_out}", flush=True)
                continue
            wrong = Trial(slack, example).run()
            tried += 1
            good += not wrong
            print(f"  {'FAILS' if wrong else 'runs':8}  {example.name} {'; '.join(wrong)}", flush=True)
    print(f"{good} of {tried} run")
    return 0 if good == tried else 1


sys.exit(main(sys.argv[1:]))
