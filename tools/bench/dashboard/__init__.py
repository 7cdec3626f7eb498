"""The parts of the dashboard's benchmark: a large account, its service, a terminal, a simulated month."""
