"""Each file here is a command: `HELP`, `EXAMPLES`, `configure(parser)`, `run(options) -> exit code or None`."""
