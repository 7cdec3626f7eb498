"""Terminal, processes, garbage collection, systemd and log files."""
