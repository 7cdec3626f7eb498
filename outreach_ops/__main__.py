"""`python -P -m outreach_ops`: the `outreach` command, as the program starts itself in child processes."""

import sys

from outreach_ops import main

sys.exit(main())
