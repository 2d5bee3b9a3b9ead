"""The commands, one file each: `HELP`, `EXAMPLES`, `configure(parser)`, `run(options) -> exit code or None`."""
