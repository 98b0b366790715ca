"""`python -m jobkit` is `jobkit`."""

from jobkit.cli.main import main

main()
