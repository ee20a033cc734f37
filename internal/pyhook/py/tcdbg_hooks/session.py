"""The debugging session of one process: its breakpoints, what its threads are to do, its stops.

Commands come from the thread of pause.py; threads of the program ask at their hooks whether they
are to stop, and stand still in stand().
"""

import os
import queue
import sys
import threading
import time

from . import failed, frames, guard, lines, of_the_program, rank, record
from .points import Point, places
from .stops import Moment, Stop, current_compile, dynamo_off

LINE_STEPS = ("line", "into", "out")
TRACE_STEPS = ("operator", "instruction")  # walk.py


class Step:
    """What a thread does until it stops again."""

    def __init__(self, kind, command, moment):
        self.kind = kind
        self.command = command
        self.thread = threading.current_thread()
        self.depth = moment.depth
        self.compile, self.captured = moment.compile, moment.captured
        # What the compiler calls is none of the lines that a step goes through, unless it began there.
        self.within = "" if moment.compile else current_compile()

    def mine(self):
        return self.thread is threading.current_thread()


class Standing:
    """A thread that stands still."""

    def __init__(self, label, stop):
        self.label = label
        self.stop = stop
        self.since = time.monotonic()
        self.commands = queue.SimpleQueue()


class Session:
    def __init__(self):
        self.lock = threading.RLock()
        self.count = 0
        self.missing = {}  # kind of stop -> why this program cannot
        self.ready_hooks = []  # called with the session when what is armed changes
        self.lines = lines.Lines(self)
        self.eager = None  # set where PyTorch is hooked
        self.reset()

    def reset(self):
        """The state of a process that was asked for nothing."""
        self.points = {}
        self.watches = {}
        self.steps = {}  # thread ident -> Step
        self.pauses = {}  # label, "" for all -> (command id, idents that have stopped)
        self.standing = {}
        self.aside = set()  # idents of threads that run something which is no part of the program
        self.starting = False
        self.kinds = set()
        self.by_line = {}
        self.files = {}  # name -> whether lines of it may be wanted
        self.pointed = {}  # name -> whether it has line breakpoints
        self.names = set()  # of functions with breakpoints
        self.any_lines = self.at_hooks = self.at_calls = self.walks = False

    # Commands, in the thread that receives them.

    def command(self, c):
        if c.get("pid") not in (None, 0, os.getpid()):
            return
        do = getattr(self, "do_" + c.get("verb", ""), None)
        if do is None:
            self.refuse(c, "unknown command")
        else:
            do(c)

    def state(self, state, c=None, thread="", where=None, text=""):
        out = {"state": state, "pid": os.getpid()}
        if c and c.get("id"):
            out["command"] = c["id"]
        if thread:
            out["thread"] = thread
        if where:
            out["where"] = where
        if text:
            out["text"] = text
        record("tcdbg_state", out)

    def refuse(self, c, why):
        standing = self.addressed(c)
        where = standing[0].stop["where"] if standing else None
        thread = standing[0].label if standing else c.get("thread", "")
        # "running" without a thread would be of all threads: others may stand.
        state = "paused" if standing or (self.standing and not thread) else "running"
        self.state(state, c, thread, where, "%s: %s" % (c.get("verb"), why))

    def addressed(self, c):
        """The standing threads that a command is for, the one that stopped last at the end."""
        with self.lock:
            all = sorted(self.standing.values(), key=lambda s: s.since)
        return [s for s in all if not c.get("thread") or c["thread"] == s.label]

    def do_pause(self, c):
        with self.lock:
            self.pauses[c.get("thread", "")] = (c.get("id", 0), set())
            self.rearm()

    def do_start(self, c):
        """Stops before the program's first line: the viewer says so to a process that connects."""
        with self.lock:
            self.starting = True
            self.rearm()

    def do_continue(self, c):
        with self.lock:
            self.pauses.clear()
            self.starting = False
            for s in self.addressed(c):
                s.commands.put(c)
            if not self.standing:
                self.state("running", c)
            self.rearm()

    def do_step(self, c):
        kind = c.get("arg", "")
        if kind in TRACE_STEPS and kind in self.missing:
            return self.refuse(c, self.missing[kind])
        if kind and kind not in LINE_STEPS + TRACE_STEPS and Point(0, kind).kind != "line":
            return self.refuse(c, "%s: a step is line, into, out, operator, instruction, FILE:LINE or nothing" % kind)
        standing = self.addressed(c)
        if not standing:
            return self.refuse(c, "nothing stands still")
        for s in standing:
            s.commands.put(c)

    def do_break(self, c):
        point = Point(c.get("point", 0), c.get("arg", ""))
        if not point.error and point.kind in self.missing:
            point.error = self.missing[point.kind]
        if not point.error and point.kind == "line":
            point.places, point.error = places(point)
        if point.kind in ("line", "func") and self.eager:
            point.note = self.eager.refused
        with self.lock:
            if not point.error:
                self.points[point.id] = point
            self.rearm()
            if not point.error and point.kind in ("line", "func") and self.lines.refused:
                point.error = self.lines.refused
                del self.points[point.id]
        self.say(point, c, point.places)

    def say(self, point, c=None, places=0, cleared=False):
        out = {"id": point.id, "pid": os.getpid(), "spec": point.spec}
        for key, v in (("command", c and c.get("id")), ("places", places), ("error", point.error), ("note", point.note), ("cleared", cleared)):
            if v:
                out[key] = v
        record("tcdbg_point", out)

    def do_clear(self, c):
        with self.lock:
            gone = [
                p for p in self.points.values()
                if (p.id == c["point"] if c.get("point") else p.spec == c.get("arg"))
            ]  # fmt: skip
            for p in gone:
                del self.points[p.id]
            self.rearm()
        for p in gone:
            self.say(p, c, cleared=True)
        if not gone:
            self.refuse(c, "no such breakpoint")

    def do_evaluate(self, c):
        standing = self.addressed(c)
        if not standing:
            return self.answer({"expr": c.get("arg", ""), "level": c.get("level", 0)}, c, "nothing stands still")
        standing[-1].commands.put(c)

    def answer(self, a, c, error=""):
        a = dict(a, pid=os.getpid())
        a.setdefault("value", {})
        if c.get("id"):
            a["command"] = c["id"]
        if error:
            a["error"] = error
        record("tcdbg_answer", a)

    def do_watch(self, c):
        self.watches[c.get("arg", "")] = c.get("level", 0)
        for s in self.addressed(c):
            s.commands.put(dict(c, verb="evaluate"))

    def do_unwatch(self, c):
        self.watches.pop(c.get("arg", ""), None)

    def do_leave(self, c):
        """The viewer goes and the program stays; also what its death means."""
        with self.lock:
            self.points.clear()
            self.watches.clear()
            self.steps.clear()
            self.pauses.clear()
            self.starting = False
            for s in self.standing.values():
                s.commands.put({"verb": "continue", "id": c.get("id", 0)})
            if not self.standing and c.get("id"):
                self.state("running", c)
            self.rearm()

    # What is armed. The caller holds the lock.

    def rearm(self):
        points = list(self.points.values())
        self.kinds = {p.kind for p in points}
        self.files = {}
        self.pointed = {}
        self.names = {p.arg.rpartition(".")[2] for p in points if p.kind == "func"}
        self.by_line = {}
        for p in points:
            if p.kind == "line":
                self.by_line.setdefault(p.line, []).append(p)
        steps = {s.kind for s in self.steps.values()}
        self.walks = bool(steps & set(TRACE_STEPS))
        entries = bool(self.kinds & {"call", "func"} or "" in steps or self.walks)
        self.any_lines = bool(self.pauses or self.starting or steps & set(LINE_STEPS))
        self.at_hooks = bool(points or self.pauses or self.steps)
        self.lines.arm(bool(self.any_lines or self.by_line or "func" in self.kinds or (lines.MONITORING and entries)))
        # Where lines belong to one thread, compiled calls are where a thread can be reached.
        self.at_calls = entries or (not lines.MONITORING and (self.lines.on or bool(self.pauses)))
        for hook in self.ready_hooks:
            hook(self)

    def cannot(self, kind, why):
        """A kind of stop that this release of PyTorch has not: breakpoints of it are refused."""
        with self.lock:
            self.missing[kind] = why
            for p in [p for p in self.points.values() if p.kind == kind]:
                p.error = why
                del self.points[p.id]
                self.say(p)
            self.rearm()

    def note(self, kinds, text):
        """Says of the breakpoints of some kinds what they do not do."""
        with self.lock:
            found = [p for p in self.points.values() if p.kind in kinds and p.once is None]
            for p in found:
                p.note = text
        for p in found:
            self.say(p, places=p.places)

    def other_tracer(self, tracer):
        self.lines.refused = "another tracer uses sys.settrace: %r" % (tracer,)
        failed("sys.settrace")

    # Questions of the lines engine.

    def wants_line(self, code, line, ident):
        if frames.is_generated(code):
            return False
        here = self.by_line.get(line)
        if here and any(p.in_file(code.co_filename) for p in here):
            return True
        if not self.any_lines or frames.kind_of(code) not in (frames.USER, frames.LIBRARY):
            return False
        return self.starting or ident in self.steps or bool(self.pauses)

    def wants_lines_of_any(self, code, line):
        return self.any_lines and frames.kind_of(code) in (frames.USER, frames.LIBRARY) and not frames.is_generated(code)

    def wants_code(self, code):
        """Whether lines of code may be wanted by some thread: asked for each call."""
        name = code.co_filename
        wanted = self.files.get(name)
        if wanted is None:
            wanted = self.any_lines and frames.kind_of(code) in (frames.USER, frames.LIBRARY)
            wanted = wanted or any(p.in_file(name) for at in self.by_line.values() for p in at)
            self.files[name] = wanted
        return wanted

    def passes(self, frame):
        """Whether no line of a frame that begins can be stopped at, whatever it calls: a step over it
        is all that asks for lines."""
        step = self.steps.get(threading.get_ident())
        if step is None or step.kind not in LINE_STEPS or not step.mine() or self.pauses or self.starting:
            return False
        name = frame.f_code.co_filename
        pointed = self.pointed.get(name)
        if pointed is None:
            pointed = self.pointed[name] = any(p.in_file(name) for at in list(self.by_line.values()) for p in at)
        if pointed:
            return False
        if current_compile() not in ("", step.within):
            return True
        depth = len(frames.user_frames(frame)[0])
        return depth > step.depth if step.kind == "line" else step.kind == "out" and depth >= step.depth

    def wants_entry(self, code):
        if frames.is_generated(code):
            return self.at_calls
        if code.co_name not in self.names or frames.kind_of(code) not in (frames.USER, frames.LIBRARY):
            return False
        return any(p.kind == "func" and p.names(code) for p in self.points.values())

    # Hooks, in threads of the program.

    def busy(self):
        """Whether this thread stands still and evaluates something, or runs something of ours."""
        ident = threading.get_ident()
        return ident in self.standing or ident in self.aside

    def line(self, frame):
        """Before a line of Python code runs."""
        if self.busy():
            return
        code = frame.f_code
        moment = Moment("line", lambda: frames.user_frames(frame))
        for p in self.by_line.get(frame.f_lineno, ()):
            if p.in_file(code.co_filename) and (p.once is None or p.once is threading.current_thread()):
                if self.hit(p, moment):
                    return
        if self.stepped(moment) or self.paused(moment):
            return
        if self.starting and self.starts(frame):
            self.starting = False
            self.stand(Moment("start", lambda: frames.user_frames(frame)), "before the program's first line")

    def starts(self, frame):
        """Whether frame runs the program's own file: not a process that only imports it."""
        code = frame.f_code
        if threading.current_thread() is not threading.main_thread() or code.co_name != "<module>":
            return False
        own = frame.f_globals.get("__name__") in ("__main__", "__mp_main__")
        spawned = code.co_filename == "<string>" and "multiprocessing" in " ".join(getattr(sys, "orig_argv", ()))
        return own and not spawned and frames.kind_of(code) == frames.USER

    def entered(self, frame):
        """A function is called; generated code is that of a compiled one."""
        if self.busy():
            return
        code = frame.f_code
        made = frames.is_generated(code)
        moment = Moment("call" if made else "line", lambda: frames.user_frames(frame))
        if made:
            moment.compiled = frames.function_name(code)
        for p in list(self.points.values()):
            if (p.kind == "func" and p.names(code)) or (p.kind == "call" and made):
                if self.hit(p, moment):
                    return
        if made and not self.stepped(moment, hook=True):
            self.paused(moment)

    def safe(self, moment, matches):
        """A hook of the compiler: stops for the breakpoints that match, a step or a pause."""
        if not self.at_hooks or self.busy():
            return
        for p in list(self.points.values()):
            if matches(p) and self.hit(p, moment):
                return
        if not self.stepped(moment, hook=moment.kind != "line"):
            self.paused(moment)

    def hit(self, point, moment):
        """Stops at a breakpoint whose condition holds."""
        why = "breakpoint " + point.spec
        if point.condition:
            try:
                with dynamo_off():
                    if not moment.evaluate(point.compiled, 0):
                        return False
            except Exception as e:
                said = str(e) if isinstance(e, LookupError) and type(e) is LookupError else "it raised %s: %s" % (type(e).__name__, e)
                why += "; the condition has no value: " + said
        if point.once is not None:
            with self.lock:
                self.points.pop(point.id, None)
                self.rearm()
            self.stand(moment, "step to " + point.spec, command=point.command)
        else:
            self.stand(moment, why, point=point.id)
        return True

    def stepped(self, moment, hook=False):
        step = self.steps.get(threading.get_ident())
        if step is None or not step.mine():
            return False
        if hook:
            # Of what is compiled the trace follows. One that has ended has no next instruction: this is where it goes on.
            if step.kind in LINE_STEPS or (step.kind in TRACE_STEPS and moment.kind == "frame"):
                return False
        elif step.kind in TRACE_STEPS:
            return False
        elif step.kind == "" or moment.kind != "line":
            return False
        elif not moment.compile and current_compile() not in ("", step.within):
            return False
        elif step.kind == "line" and moment.depth > step.depth:
            return False
        elif step.kind == "out" and moment.depth >= step.depth:
            return False
        why = "step " + step.kind
        if step.kind in TRACE_STEPS and step.compile:
            why = "the trace has no further operator" if step.kind == "operator" else "the trace has ended"
        elif not step.kind or step.kind in TRACE_STEPS:
            why = "the next safe point"
        self.stand(moment, why, command=step.command)
        return True

    def paused(self, moment):
        ident = threading.get_ident()
        for label in ("", thread_label()):
            pause = self.pauses.get(label)
            if pause and ident not in pause[1]:
                pause[1].add(ident)
                moment.kind = "pause"
                self.stand(moment, "pause", command=pause[0])
                return True
        return False

    # A stop.

    def stand(self, moment, why, point=0, command=0):
        """Stands still in this thread until it is told to go on."""
        ident = threading.get_ident()
        label = thread_label()
        with self.lock:
            if ident in self.standing:
                return
            self.steps.pop(ident, None)
            self.count += 1
            standing = self.standing[ident] = Standing(label, None)
        go = {"verb": "continue"}
        try:
            with dynamo_off():
                eager = self.eager.words() if self.eager else ""
                if eager:
                    why += "; " + eager
                    moment.reason = moment.reason or "what is compiled serves calls again when no breakpoint is on its lines"
                stop = self.shown(standing, moment, why, point, command)
                if stop is not None:
                    go = self.wait(standing, stop)
        finally:
            with self.lock:
                self.standing.pop(ident, None)
                self.proceed(go, moment)
            self.state("running", go, label)

    def shown(self, standing, moment, why, point, command):
        """Writes the records of a stop; None where that failed, and then there is none."""
        try:
            stop = Stop(self.count, moment, why, point, command, standing.label, rank())
            if moment.trace is not None:
                guard(moment.trace.stands)
            standing.stop = stop.compose(self.watches)
            record("tcdbg_stop", standing.stop)
            self.state("paused", {"id": command}, standing.label, standing.stop.get("where"), moment.kind)
            return stop
        except Exception:
            failed("stop")
            return None

    def wait(self, standing, stop):
        """Answers until the thread is told to go on, and returns that command. Signals' handlers
        run meanwhile; what they raise is the program's."""
        while True:
            try:
                c = standing.commands.get()
            except Exception as e:
                raise of_the_program(e)
            if c["verb"] in ("continue", "step"):
                return c
            try:
                self.answer(stop.answer(c.get("arg", ""), c.get("level", 0)), c)
            except Exception as e:
                self.answer({"expr": c.get("arg", ""), "level": c.get("level", 0)}, c, "%s: %s" % (type(e).__name__, e))

    def proceed(self, go, moment):
        """Arms what a step needs. The caller holds the lock."""
        kind = go.get("arg", "")
        if go["verb"] == "step":
            if kind in LINE_STEPS + TRACE_STEPS or kind == "":
                self.steps[threading.get_ident()] = Step(kind, go.get("id", 0), moment)
            else:
                point = Point(-1 - self.count, kind)
                point.once, point.command = threading.current_thread(), go.get("id", 0)
                self.points[point.id] = point
        self.rearm()
        if moment.frame is not None:
            self.lines.here(moment.frame)
        moment.forget()


def thread_label():
    """The name of this thread, with its number where another one has the name too."""
    me = threading.current_thread()
    if sum(t.name == me.name for t in threading.enumerate()) > 1:
        return "%s#%d" % (me.name, threading.get_native_id())
    return me.name
