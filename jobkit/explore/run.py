"""One schedule: workers on a fresh server, one step at a time, as somebody chooses."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from jobkit.errors import ExploreError
from jobkit.explore.blocking import unblocked
from jobkit.explore.calls import LOST, Answer, Call, Effect, Ended, Replies, Request, Sleep
from jobkit.explore.commands import EVERYTHING, NOTHING, Footprint
from jobkit.explore.events import Event, asked
from jobkit.explore.events import scripts as scripts_of
from jobkit.explore.ground import Ground
from jobkit.explore.order import Numbers, Order
from jobkit.explore.schedule import JUMP, Choice
from jobkit.explore.seen import Moment
from jobkit.explore.turn import Program, Turn
from jobkit.explore.watchdog import Endless, Watchdog
from jobkit.explore.world import Done, World

_OUTSIDE = Footprint(reads=frozenset({b"(outside)"}), writes=frozenset({b"(outside)"}))
"""Effects conflict with each other alone: a promise may look at their order."""
_DEATHS = Footprint(reads=frozenset({b"(deaths)"}), writes=frozenset({b"(deaths)"}))
_PUSHED = frozenset({b"SUBSCRIBE", b"PSUBSCRIBE", b"SSUBSCRIBE", b"MONITOR"})


class Run:
    """A schedule in the making: look at `options`, `take` one, until it is `over`."""

    def __init__(self, program: Program, ground: Ground, watchdog: Watchdog, numbers: Numbers | None = None) -> None:
        self._program, self._ground, self._watchdog = program, ground, watchdog
        ground.reset()
        self.world = World(ground.client, program.given)
        if program.given is not None:
            program.given(ground.client)
        self.order, self.events = Order(numbers), self.world.events
        self._left = {"!": program.crashes, "?": program.lost_replies, "+": program.jumps}
        self._turns = {name: Turn(make(name)) for name, make in program.workers}
        self._last = ""
        self.taken = 0
        """How many choices were made."""
        self.noted: Callable[[], object] = lambda: None
        """Called after each step."""
        try:
            for name in self._turns:
                self._go(name, None)
            self._settle()
        except BaseException:
            self.close()
            raise

    @property
    def over(self) -> bool:
        """Whether nothing can happen any more."""
        return not any(turn.ready and not turn.over for turn in self._turns.values())

    @property
    def moment(self) -> Moment:
        """What tells this moment from others, as far as what can follow goes."""
        return Moment(self.order.past, self._last)

    @property
    def ready(self) -> frozenset[str]:
        """Who can go on."""
        return frozenset([name for name, turn in self._turns.items() if turn.ready and not turn.over])

    def ahead(self, choice: Choice) -> Moment | None:
        """Return where a choice leads; None where only taking it tells: a script, a command that blocks, a recovery."""
        if choice == JUMP:
            return Moment(self.order.ahead("", (JUMP, self._program.jump_ms), EVERYTHING), self._last)
        name, turn = choice.worker, self._turns[choice.worker]
        if choice.what == "!":
            past = self.order.ahead(name, "!", _DEATHS)
            return Moment(past, self._last) if self._program.recovery is None else None
        seen: Footprint | None = _OUTSIDE if isinstance(turn.request, Effect) else NOTHING
        if isinstance(turn.request, Call):
            seen = self._ground.ahead(name, turn.request)
        return None if seen is None else Moment(self.order.ahead(name, (choice.what, turn.asked), seen), name)

    def asked(self, choice: Choice) -> Hashable:
        """Return what a choice's worker asks for now: it must be the same each time that this moment is reached."""
        turn = self._turns.get(choice.worker)
        return None if turn is None or turn.over else (turn.ready, turn.asked, turn.scripts)

    def options(self) -> list[tuple[Choice, int]]:
        """Return each choice there is, with how many switches, crashes, losses and jumps it forces."""
        ready = [name for name, turn in self._turns.items() if turn.ready and not turn.over]
        if self._last in ready:
            ready.sort(key=self._last.__ne__)
        forced = [int(self._last in ready and name != self._last) for name in ready]
        found = [(Choice(name), cost) for name, cost in zip(ready, forced, strict=True)]
        if self._left["?"]:
            found += [
                (Choice(name, "?"), cost + 1)
                for name, cost in zip(ready, forced, strict=True)
                if isinstance(self._turns[name].request, Call)
            ]
        if self._left["!"]:
            found += [(Choice(name, "!"), 1) for name, turn in self._turns.items() if not turn.over]
        if self._left["+"]:
            found.append((JUMP, 1))
        return found

    def take(self, choice: Choice) -> None:
        """Let one thing happen."""
        if len(self.events) >= self._program.longest:
            raise ExploreError(
                f"the schedule goes on after {len(self.events)} steps: a loop that polls cannot be explored, "
                "explore one turn of it"
            )
        self.taken += 1
        if choice == JUMP:
            self._left["+"] -= 1
            self._pass(self._program.jump_ms, JUMP)
        elif choice.what == "!":
            self._crash(choice)
        else:
            self._step(choice)
            self._last = choice.worker
        self._settle()

    def close(self) -> None:
        """Unwind whoever is still alive."""
        for turn in self._turns.values():
            turn.actor.kill()

    # -- what can happen ------------------------------------------------------------------------

    def _step(self, choice: Choice) -> None:
        name, turn = choice.worker, self._turns[choice.worker]
        request, answer, replies, seen = turn.request, None, (), NOTHING
        if isinstance(request, Effect):
            self.world.effects.append(Done(name, request.text))
            seen = _OUTSIDE
        elif isinstance(request, Call):
            tried, seen = self._call(name, request, turn)
            if tried is None:
                self.order.add(name, ("waits", turn.asked), seen)
                self._note(choice, request, waits=True)
                return
            replies = tried
            answer = LOST if choice.what == "?" else Replies(replies)
        self.order.add(name, (choice.what, turn.asked), seen)
        self._note(choice, request, replies)
        if choice.what == "?":
            self._left["?"] -= 1
            self.world.losses.append(name)
        self._go(name, answer)

    def _call(self, name: str, call: Call, turn: Turn) -> tuple[tuple[Any, ...] | None, Footprint]:
        """Run a call; None for its replies: it blocks."""
        wait = turn.wait
        if wait is None and len(call.commands) == 1:
            wait = unblocked(call.commands[0], lambda args: self._alone(name, call, args)[0])
        if wait is None:
            replies, seen = self._ground.run(name, call)
        else:
            found, seen = wait.tried(lambda args: self._alone(name, call, args))
            now = self._ground.passed
            if found is None and (turn.until is None or turn.until > now):
                turn.ready, turn.wait = False, wait
                if turn.until is None and wait.timeout_ms is not None:
                    turn.until = now + wait.timeout_ms
                return None, seen
            replies = (found,)
        self._wake(seen)
        return replies, seen

    def _alone(self, name: str, call: Call, args: tuple[bytes, ...]) -> tuple[Any, Footprint]:
        """Run a command in a call's place; return its reply, and what it touched."""
        replies, seen = self._ground.run(name, Call(call.connection, (args,)))
        return replies[0], seen

    def _wake(self, seen: Footprint) -> None:
        """Let those try again whose keys were written, and are there."""
        for turn in self._turns.values():
            keys = turn.wait.keys if turn.wait else frozenset[bytes]()
            written = keys if seen.everything else keys & seen.writes
            if written and self._ground.client.exists(*written):
                turn.ready = True

    def _crash(self, choice: Choice) -> None:
        self._left["!"] -= 1
        turn = self._turns[choice.worker]
        turn.over = True
        self._ground.drop(choice.worker)
        self.world.crashed.append(choice.worker)
        self.order.add(choice.worker, "!", _DEATHS)
        self._note(choice, turn.request)
        if self._program.recovery is not None:
            name = "RSTUVWXYZ"[len(self.world.crashed) - 1]
            self._turns[name] = Turn(self._program.recovery(name))
            self.order.add(name, "starts", NOTHING, after=choice.worker)
            self._go(name, None)

    def _settle(self) -> None:
        """Where nobody can go on, time passes until somebody can."""
        while self.over:
            waits = [t.until for t in self._turns.values() if not t.over and not t.ready and t.until is not None]
            if not waits:
                self.world.waiting[:] = [name for name, t in self._turns.items() if not t.over]
                return
            self._pass(max(0, min(waits) - self._ground.passed), None)

    def _pass(self, ms: int, choice: Choice | None) -> None:
        self._ground.advance(ms)
        now = self._ground.passed
        for turn in self._turns.values():
            if not turn.over and turn.until is not None and turn.until <= now:
                turn.ready = True
        self.order.add("", (choice, ms), EVERYTHING)
        if ms or choice:
            self._note(choice or JUMP, None, ms=ms)

    def _go(self, name: str, answer: Answer) -> None:
        """Let a worker run to its next request; what is no step is answered at once."""
        turn, scripts = self._turns[name], frozenset[bytes]()
        for _ in range(self._program.longest):
            self._watchdog.beat()
            request = turn.actor.go(answer, self._ground.now())
            if isinstance(request, Call) and request.commands[0][0] in _PUSHED:
                raise ExploreError(f"worker {name} subscribes: what a server pushes cannot be explored")
            if isinstance(request, Call):
                scripts |= scripts_of(request)
            if not (isinstance(request, Call) and self._ground.is_silent(request)):
                break
            answer = Replies(self._ground.run(name, request)[0])
        else:
            raise ExploreError(f"worker {name} does nothing but load scripts")
        turn.request, turn.until, turn.wait, turn.scripts = request, None, None, scripts
        turn.asked = asked(request, timeless=self._ground.live)
        if isinstance(request, Sleep):
            turn.until = self._ground.passed + request.ms
            turn.ready = request.ms == 0
        elif isinstance(request, Ended):
            turn.over = True
            self._end(name, request)

    def _end(self, name: str, ended: Ended) -> None:
        if isinstance(ended.error, Endless):
            raise ExploreError(
                f"worker {name} ran for {self._watchdog.patience:g} s without a command: an endless loop?"
            )
        if isinstance(ended.error, (ExploreError, KeyboardInterrupt)):
            raise ended.error
        if ended.kind:
            self.world.errors[name] = ended
        else:
            self.world.answers[name] = ended.answer

    def _note(self, choice: Choice, request: Request | None, replies: tuple[Any, ...] = (), **more: Any) -> None:
        self.events.append(Event(choice, request, replies, at=self._ground.passed, **more))
        self.noted()
