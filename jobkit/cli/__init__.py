"""The `jobkit` command, one file per subcommand."""

import sys

# jsonschema, which all of Jupyter imports, looks for this to check IRIs; it builds a grammar at import, for 1.2 s.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
