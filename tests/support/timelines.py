"""Failures made by hand, and any others, for the views of the explorer."""

from hypothesis import strategies as st

from jobkit.explore.trace import Change, Coverage, Failure, Kind, Step

COMMAND, EFFECT, CRASH, LOST, JUMP, SLEEP, END = (
    Kind.COMMAND,
    Kind.EFFECT,
    Kind.CRASH,
    Kind.LOST,
    Kind.JUMP,
    Kind.SLEEP,
    Kind.END,
)

RACY = Failure(
    promise="each runs once",
    what="run j0 done 2 times (by B, A)",
    schedule="ABBBAA",
    steps=(
        Step(COMMAND, "A", "ZRANGE delayed ..", "[j0]"),
        Step(COMMAND, "B", "ZRANGE delayed ..", "[j0]"),
        Step(COMMAND, "B", "ZREM delayed j0", "1", (Change("delayed", "{j0}", "{}"),)),
        Step(EFFECT, "B", "run j0"),
        Step(COMMAND, "A", "ZREM delayed j0", "0"),
        Step(EFFECT, "A", "run j0"),
    ),
    forced=1,
)

FAULTS = Failure(
    promise="nothing is lost",
    what="j0 is lost",
    schedule="A?+A!",
    steps=(
        Step(LOST, "A", "ZREM delayed j0", "1", (Change("delayed", "{j0}", ""),)),
        Step(SLEEP, "A", "wakes up", at=1000),
        Step(JUMP, "", "30 s", at=31_000),
        Step(CRASH, "A", "before RPUSH ready j0", at=31_000),
        Step(COMMAND, "R", "LRANGE running 0 -1", "[]", at=31_000),
        Step(END, "R", "IndexError: empty", at=31_000),
    ),
    forced=3,
)

LONG = Failure(
    promise="a stale token has no effect",
    what="the ack of token 7 changed job j1",
    schedule="ABC",
    steps=(
        Step(COMMAND, "A", "EVALSHA claim 3 {mail}:ready {mail}:leases {mail}:job: w1 30000 1767225600000", "[j1, 7]"),
        Step(COMMAND, "B", "XREADGROUP GROUP workers B COUNT 10 STREAMS {mail}:ready >", "nil"),
        Step(EFFECT, "C", "charge 日本語 (room 412), then say so to everybody who asked, and to those who did not"),
    ),
    forced=0,
)

CROOKED = Failure(
    promise="p",
    what="w",
    schedule="",
    steps=(Step(COMMAND, "A", "a"), Step(COMMAND, "B", "b"), Step(LOST, "C", "c" * 60), Step(EFFECT, "R", "r")),
    forced=0,
)
"""The middle lane needs most of the room."""

WAIT = Failure("it ends", "it waits", schedule="+", steps=(Step(JUMP, "", "1 s"),), forced=1)
"""No worker takes a step."""

HOSTILE = "<script>alert(1)</script>&amp;\"'\x1b[31m\n\u202e\ud800\x00]]>"
"""What a key can hold that no page, picture or terminal may take for its own."""

EVIL = Failure(
    promise=HOSTILE,
    what=HOSTILE,
    schedule=HOSTILE,
    steps=tuple(
        Step(kind, "" if kind is JUMP else "A", HOSTILE, HOSTILE, (Change(HOSTILE, HOSTILE, HOSTILE),)) for kind in Kind
    ),
    forced=0,
)

AT_ONCE = Failure("never empty", "the queue is empty", schedule="", steps=(), forced=0)
"""Broken by the set-up itself."""

SEEN = Coverage(workers=2, schedules=57, bound=1, complete=True, crashes=1, longest=9)

words = st.one_of(
    st.text("abc {}:[]<&", max_size=150),
    st.text(st.characters(exclude_characters="…"), max_size=60),
    st.text("日本\u0301\ufe0f#é🙂\u200d a", max_size=60),
)
changes = st.builds(Change, key=words, before=words, after=words)


@st.composite
def steps(draw, names="ABCR"):
    kind = draw(st.sampled_from(Kind))
    worker = "" if kind is JUMP else draw(st.sampled_from(names))
    answers = words if kind in {COMMAND, LOST} else st.just("")
    seen = st.lists(changes, max_size=2).map(tuple)
    return Step(kind, worker, draw(words), draw(answers), draw(seen), draw(st.integers(0, 10**7)))


@st.composite
def failures(draw, most=8):
    names = draw(st.sampled_from(["A", "AB", "AR", "ABC", "ABCR", "ABCDEFGHRST"]))
    return Failure(
        promise=draw(words),
        what=draw(words),
        schedule=draw(st.text("AB!?+", max_size=100)),
        steps=tuple(draw(st.lists(steps(names), max_size=most))),
        forced=draw(st.integers(0, 9)),
    )


coverages = st.builds(
    Coverage,
    workers=st.integers(1, 8),
    schedules=st.integers(0, 10**7),
    bound=st.none() | st.integers(-1, 9),
    complete=st.booleans(),
    crashes=st.integers(0, 2),
    lost_replies=st.integers(0, 2),
    jumps=st.integers(0, 2),
    random=st.booleans(),
    longest=st.integers(0, 99),
)
