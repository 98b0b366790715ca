"""The `jobkit` command, one file per subcommand."""
