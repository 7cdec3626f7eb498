"""What the benchmark of the dashboard runs: a large account, its service, a terminal, a simulated month."""
