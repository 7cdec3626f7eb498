"""From stored alerts to posted messages: the worker, repaints, and channels that refuse posts."""
