"""Values that cannot be meant, by kind of argument."""

import math
from datetime import datetime, timedelta
from decimal import Decimal

NO_SECONDS = {
    "NaN": math.nan,
    "inf": math.inf,
    "minus inf": -math.inf,
    "bool": True,
    "text": "5",
    "bytes": b"5",
    "None": None,
    "list": [5],
    "complex": 5j,
    "decimal": Decimal(5),
    "ten years and a bit": 315_360_000.001,
    "eleven years": timedelta(days=11 * 365),
    "huge int": 10**400,
    "largest timedelta": timedelta.max,
    "datetime": datetime(2026, 1, 1),  # noqa: DTZ001 - naive on purpose
}

NO_MOMENTS = {
    "naive": datetime(2026, 1, 1),  # noqa: DTZ001
    "number": 1_800_000_000,
    "text": "2026-01-01",
    "date": datetime(2026, 1, 1).date(),  # noqa: DTZ001
    "bool": True,
    "timedelta": timedelta(1),
}

NO_NAMES = {
    "empty": "",
    "201 bytes": "x" * 201,
    "201 bytes in UTF-8": "é" * 100 + "x",
    "lone surrogate": "a\ud800",
    "bytes": b"a",
    "number": 5,
    "bool": True,
    "list": ["a"],
}
"""None is not here: it means "a fresh id", or "no entity"."""

NO_PAYLOADS = {
    "text": "text",
    "number": 5,
    "list": [1],
    "set": {1},
    "object": object(),
    "set inside": {"a": {1}},
    "object inside": {"a": object()},
    "bytes inside": {"a": b"x"},
    "number as key": {1: "a"},
    "number as key inside": {"a": [{"b": {1: "a"}}]},
    "None as key": {None: "a"},
    "NaN": {"a": math.nan},
    "inf": {"a": [math.inf]},
    "lone surrogate": {"a": "\ud800"},
    "lone surrogate as key": {"\udfff": 1},
    "too large": b"x" * ((1 << 20) + 1),
    "too large as JSON": {"a": "x" * (1 << 20)},
}

_deep = []
for _ in range(100_000):
    _deep = [_deep]
NO_PAYLOADS["too deep"] = {"a": _deep}
_round = {}
_round["a"] = _round
NO_PAYLOADS["itself inside"] = _round

NO_WHOLE_NUMBERS = {
    "negative": -1,
    "float": 1.0,
    "NaN": math.nan,
    "bool": True,
    "text": "1",
    "None": None,
    "huge": 10**30,
}
