"""Records every call of the functions that Dynamo compiled: which cache entry served it, or that
none did.

An entry that serves a call has evaluated all of its guards, and the last of them is ours: it
notes the call and holds. A call that no entry serves is told by the guard-complete hook of
Dynamo's frame evaluation, where the release has it. How long calls take is told by brackets.py.

Calls go into a list in memory. A thread of ours counts them and writes runs of calls that went
alike, as package logs/calls of tcdbg describes them.
"""

import atexit
import collections
import contextlib
import os
import sys
import time
import _thread

from . import brackets, failed, guard, record, when

INTERVAL = 0.2  # seconds between two looks at the list
SETTLED = 0.1  # seconds after which a call for which no compile has begun runs eagerly
MANY = 20_000  # calls in the list that are counted at once
EXACT, COARSE = 512, 256  # see logs/calls/recorder.go
MAX_SIZES = 8
SHIFT = 32  # of the time, in what a hit notes
MASK = (1 << SHIFT) - 1

_now = time.time_ns
_clock = time.perf_counter_ns
_events = collections.deque()
_append = _events.append
_busy = _thread.allocate_lock()  # of counting and writing
_tracks = {}  # frame id -> Track
_codes = {}  # id of a code object -> its newest Track, which keeps the code
# What a number in the list stands for, so that the garbage collector need not look at it: (Track, entry) of a hit,
# (BEGINS or ENDS, bracket).
_entries = []
BEGINS, ENDS = object(), object()
_slow = []  # not empty while notes need to say which thread they are of
_first = [None]  # the thread that notes without are of
_missed = {}  # thread -> the Miss of its newest call that no entry served
_said = []  # what is not recorded
_state = {"pid": 0, "wake": None, "told": False, "epoch": 0, "misses": False, "hides": 0, "duration": True}


def start():
    _state["pid"] = os.getpid()
    when("torch._dynamo.convert_frame", _convert_frame)
    when("torch._dynamo.callback", _callback)
    when("torch._dynamo.eval_frame", _eval_frame)
    fork = getattr(os, "register_at_fork", None)
    if fork:
        fork(after_in_child=lambda: guard(_forked))


def _release():
    return "PyTorch " + str(getattr(sys.modules.get("torch"), "__version__", "")).partition("+")[0]


def _missing(text):
    _said.append(text)
    record("tcdbg_calls", {"pid": os.getpid(), "engine": _release(), "missing": text})


# What is noted while the program runs.


class Track:
    """One compiled function."""

    def __init__(self, frame, code):
        self.frame, self.code, self.epoch = frame, code, _state["epoch"]
        self.calls = self.entries = 0
        self.open = None
        self.closed = []
        self.made = self.every = 0
        self.changed = False
        self.written = 0

    def part(self):
        code = self.code
        return {
            "frame": self.frame, "epoch": self.epoch, "name": code.co_name, "file": code.co_filename, "line": code.co_firstlineno,
            "whole": _state["duration"],
        }  # fmt: skip


def _convert_frame(module):
    original = getattr(module, "GuardedCode", None)
    if original is None:
        _missing(_release() + " has no GuardedCode where it compiles a frame: calls are not recorded")
        return

    def GuardedCode(code, *args, **kwargs):
        made = original(code, *args, **kwargs)
        guard(_compiled, made, sys._getframe(1))
        return made

    module.GuardedCode = GuardedCode
    register = getattr(module, "register_bytecode_hook", None)
    if register is not None:
        register(lambda code, new: guard(_renamed, code, new))


_origin = {}  # id of generated code -> (it, the code that it was made of)


def _renamed(code, new):
    if len(_origin) > 1000:  # of compiles that failed later
        _origin.clear()
    _origin[id(new)] = (new, code)


def _compiled(made, frame):
    """A frame was compiled: its entry gets our guard, and the call that it was for is noted."""
    found = getattr(made, "compile_id", None)
    if found is None:
        found = sys.modules["torch._guards"].CompileContext.current_compile_id()
    number, entry = getattr(found, "frame_id", None), getattr(found, "frame_compile_id", None)
    if number is None or entry is None:
        return  # a graph of compiled autograd
    code = _origin.pop(id(made.code), (None, None))[1] or _code_of(frame)
    if code is None:
        return
    track = _tracks.get(number)
    if track is not None and (entry == 0 or track.code is not code):
        _drain(True)  # ids begin again
        _tracks.clear()
        _codes.clear()
        _state["epoch"] += 1
        track = None
    if track is None:
        track = _tracks[number] = Track(number, code)
        _codes[id(code)] = track
    sizes = _open_sizes(frame)
    root = getattr(made.guard_manager, "root", made.guard_manager)
    add = getattr(root, "add_epilogue_lambda_guard", None)
    if add is None:
        if not _state["told"]:
            _state["told"] = True
            _missing(_release() + " takes no guards of ours: calls are not recorded, only compiles")
    else:
        _add_guard(add, _entry(track, entry, sizes))
    miss = _missed.get(_thread.get_ident())
    if miss is not None and miss.became in (None, COMPILES) and miss.track is track:
        miss.became = DROPPED
    track.entries += 1
    _append((track, "compile", entry, _now(), _argument_sizes(frame), _thread.get_ident()))
    _wake()


def _code_of(frame):
    """The code of the frame that is compiled."""
    while frame is not None:
        code = frame.f_locals.get("code") if frame.f_code.co_name == "_compile" else None
        if hasattr(code, "co_code"):
            return code
        frame = frame.f_back
    return None


def _add_guard(add, fn):
    text = ["tcdbg"]
    try:
        add(fn, text, None)  # the user's stack, from 2.8 on
    except TypeError:
        add(fn, text)


def _number(*stands):
    _entries.append(stands)
    return len(_entries) - 1


def _entry(track, number, sizes):
    """The last guard of an entry."""
    append, now, events, slow = _append, _now, _events, _slow
    mine = _number(track, number)

    def tcdbg_entry(_):
        if slow:
            _apart(mine, now())
            return True
        append(now() << SHIFT | mine)
        if len(events) > MANY:
            _full()
        return True

    def tcdbg_sized_entry(values):
        ident = _thread.get_ident()
        if slow and ident in _probes:
            return True
        append((track, "hit", number, now(), guard(_sizes, values, sizes), ident))
        if len(events) > MANY:
            _full()
        return True

    return tcdbg_sized_entry if sizes else tcdbg_entry


def _hook(bracket):
    """What PyTorch's wrapper runs before a call of the bracket; it gives what runs after it."""
    append, clock, slow, first, thread = _append, _clock, _slow, _first, _thread.get_ident
    begin, end = _number(BEGINS, bracket), _number(ENDS, bracket)

    def tcdbg_begins():
        if slow or thread() != first[0]:
            _other_thread()
            _apart(begin, clock())
        else:
            append(clock() << SHIFT | begin)
        return tcdbg_ends

    def tcdbg_ends():
        if slow:
            _apart(end, clock())
        else:
            append(clock() << SHIFT | end)

    return tcdbg_begins


def _other_thread():
    if _first[0] is None:
        _first[0] = _thread.get_ident()
    elif _first[0] != _thread.get_ident() and _several not in _slow:
        _slow.append(_several)


_several = "several threads"


def _apart(mine, at):
    """A note with its thread."""
    ident = _thread.get_ident()
    if ident in _probes and type(_entries[mine][0]) is Track:
        return
    _append((ident, at << SHIFT | mine))
    if len(_events) > MANY:
        _full()


_probes = set()  # threads that ask for guards without making the call


@contextlib.contextmanager
def probing():
    """Guards that are evaluated inside count no call."""
    ident = _thread.get_ident()
    _probes.add(ident)
    _slow.append(ident)
    try:
        yield
    finally:
        _slow.remove(ident)
        _probes.discard(ident)


def ran_eagerly(code, why):
    """Notes a call that another module of ours has run eagerly."""
    track = _codes.get(id(code))
    if track is not None:
        _append((track, "eager", -1, _now(), why, _thread.get_ident()))


def _full():
    if _busy.acquire(False):
        try:
            guard(_count)
        finally:
            _busy.release()


def _sizes(values, sizes):
    return tuple((name, dim, int(values[name].size(dim))) for name, dim in sizes)


def _open_sizes(frame):
    """Sizes of arguments and locals that are symbols in the compile of a frame."""
    output = _local(frame, "output")
    env = getattr(output, "shape_env", None)
    sources = getattr(env, "var_to_sources", None) or {}
    replaced = getattr(env, "replacements", None) or {}
    out = []
    for symbol, list in sources.items():
        if getattr(replaced.get(symbol, symbol), "is_number", False):
            continue  # the program needed the number
        for source in list[:1]:
            base, dim = getattr(source, "base", None), getattr(source, "idx", None)
            prop = getattr(getattr(source, "prop", None), "name", "")
            if prop == "SIZE" and type(base).__name__ == "LocalSource" and dim is not None:
                out.append((base.local_name, dim))
    return out[:MAX_SIZES]


def _local(frame, name):
    for _ in range(8):
        if frame is None:
            return None
        found = frame.f_locals.get(name)
        if found is not None:
            return found
        tracer = frame.f_locals.get("tracer_output")
        found = getattr(tracer, "output_graph", None)
        if found is not None:
            return found
        frame = frame.f_back
    return None


def _argument_sizes(frame):
    """The sizes of the tensors that a frame was compiled for."""
    values = None
    while frame is not None and values is None:
        if frame.f_code.co_name == "_compile":
            values = frame.f_locals.get("locals")
        frame = frame.f_back
    torch = sys.modules.get("torch")
    out = []
    if isinstance(values, dict):
        for name, value in list(values.items()):
            if isinstance(value, torch.Tensor) and name.isidentifier():
                for dim, n in enumerate(value.shape):
                    if isinstance(n, int) and len(out) < MAX_SIZES:
                        out.append((name, dim, n))
    return tuple(out)


def _callback(module):
    handler = getattr(module, "callback_handler", None)
    if hasattr(handler, "register_start_callback") and hasattr(handler, "register_end_callback"):
        handler.register_start_callback(lambda *args: guard(_begins))
        handler.register_end_callback(lambda *args: guard(_ends))


def _begins():
    """A compile begins, maybe for a call that no entry serves."""
    miss = _missed.get(_thread.get_ident())
    if miss is not None and miss.became is None and _code_of(sys._getframe(1)) is miss.track.code:
        miss.became = COMPILES


def _ends():
    """A compile has ended. One that the limit refuses leaves its call to eager execution; of others
    without code the trace says what became."""
    error = sys.exc_info()[0]
    if error is None:
        return  # its code comes
    miss = _missed.get(_thread.get_ident())
    _append((_thread.get_ident(), None))
    if miss is None or miss.became is not COMPILES:
        return
    limit = error.__name__ == "RecompileLimitExceeded"
    miss.became, miss.why = ("eager", "limit") if limit else (DROPPED, "")


def _eval_frame(module):
    c = sys.modules.get("torch._C._dynamo.eval_frame")
    _skip(module, c)
    why = brackets.unsupported(module)
    _state["duration"] = not why
    if why:
        _missing("how long calls take is not recorded: %s, %s" % (_release(), why))
    else:
        brackets.watch(module, _hook)
    hook = getattr(c, "set_guard_complete_hook", None)
    if hook is None:
        _missing(
            _release() + " has no guard-complete hook, which came with 2.7: calls that ran without compiled code are not recorded"
        )
        return
    before = []

    def tcdbg_checked(hit):
        if before:
            hit = before[0](hit)
        if not hit:
            guard(_no_entry, sys._getframe(1))
        return hit

    _state["misses"] = True
    found = hook(tcdbg_checked)
    if found is not None:
        before.append(found)


COMPILES, DROPPED = "compiles", "dropped"


class Miss:
    """A call that no entry serves."""

    def __init__(self, track):
        self.track, self.at, self.why, self.thread = track, _now(), _why(track), _thread.get_ident()
        self.became = None  # nothing yet, COMPILES, DROPPED, or "eager"

    def settled(self, now):
        return self.became != COMPILES and (self.became is not None or now - self.at > SETTLED * 1e9)


def _no_entry(caller):
    """No entry serves a call: unless a compile follows it runs eagerly."""
    track = _callee(caller)
    thread = _thread.get_ident()
    before = _missed.pop(thread, None)
    if before is not None and before.became is None:
        before.became = "eager"
    if track is None:
        _append((thread, None))
    else:
        _missed[thread] = miss = Miss(track)
        _append(miss)
        _wake()


def _callee(caller):
    """The compiled function that a frame is calling: the only one that it can mean, None where
    there are several."""
    found = None
    candidates = list(caller.f_locals.values())
    for name in caller.f_code.co_names:
        if name in caller.f_globals:
            candidates.append(caller.f_globals[name])
    for value in candidates:
        track = _codes.get(id(getattr(value, "__code__", None)))
        if track is None:
            code = getattr(getattr(type(value), "forward", None), "__code__", None)
            track = _codes.get(id(code))
        if track is not None and track is not found:
            if found is not None:
                return None
            found = track
    return found


def _skip(eval_frame, c):
    """Has Dynamo leave our functions alone."""
    skip = getattr(eval_frame, "skip_code", None) or getattr(c, "skip_code", None)
    if skip is None:
        return
    for value in list(globals().values()) + [brackets.begins, brackets.call, brackets.ends]:
        code = getattr(value, "__code__", None)
        if code is not None and value.__module__ in (__name__, brackets.__name__):
            for each in _nested(code):
                skip(each)


def _nested(code):
    yield code
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            yield from _nested(const)


# What is counted and written.


def _count(all=False):
    """Moves what was noted into the tracks, up to a call of which it is not known yet what becomes
    of it. The caller holds the lock."""
    _learn()
    while _events:
        event = _events[0]
        if type(event) is int:
            _events.popleft()
            if not _usual(event):
                _noted(_first[0], event)
            continue
        if type(event) is tuple:
            if len(event) == 2:
                _events.popleft()
                _noted(*event)
                continue
            track, outcome, entry, at, sizes, thread = event
            why, sizes = (sizes, None) if outcome == "eager" else ("", sizes)
        else:
            if not all and not event.settled(_now()) and len(_events) < 4 * MANY:
                return
            track, outcome, entry, at, sizes, why = event.track, "eager", -1, event.at, None, event.why
            thread = event.thread
        _events.popleft()
        if type(event) is Miss and event.became in (COMPILES, DROPPED):
            continue
        track.calls += 1
        _add(track, outcome, entry, at, sizes, why)
        _timed(thread, track)


def _usual(begin):
    """Counts a call of a wrapper that one entry served, which is three notes."""
    what, bracket = _entries[begin & MASK]
    if what is not BEGINS or len(_events) < 2:
        return False
    hit, end = _events[0], _events[1]
    if type(hit) is not int or type(end) is not int or end & MASK != (begin & MASK) + 1:
        return False
    track, entry = _entries[hit & MASK]
    if type(track) is not Track or id(track.code) not in bracket.ids or track.entries >= _state["hides"]:
        return False
    _events.popleft()
    _events.popleft()
    _hit(track, entry, hit >> SHIFT)
    brackets.took(track.open, (end >> SHIFT) - (begin >> SHIFT))
    return True


def _noted(thread, event):
    """Counts a note of a thread; None is a call of which nothing else is known."""
    if event is None:
        brackets.call(thread, None, brackets.UNKNOWN)
        return
    what, which = _entries[event & MASK]
    if what is BEGINS:
        brackets.begins(thread, which, event >> SHIFT)
    elif what is ENDS:
        brackets.ends(thread, which, event >> SHIFT)
    else:
        _hit(what, which, event >> SHIFT)
        _timed(thread, what)


def _timed(thread, track):
    """The call that was counted last may be the one of the innermost wrapper. A release that does not
    tell of eager calls hides which of a recursion's calls that is, where one may have run eagerly."""
    if track.entries >= _state["hides"]:
        brackets.call(thread, None, brackets.UNKNOWN)
    else:
        brackets.call(thread, track, track.open)


def _learn():
    """Of how many entries on a function may have run eagerly without our notice."""
    _state["hides"] = float("inf")
    if not _state["misses"]:
        stance = getattr(sys.modules.get("torch._dynamo.eval_frame"), "_stance", None)
        _state["hides"] = _limit() or 0 if getattr(stance, "stance", "default") == "default" else 0


def _limit():
    config = sys.modules.get("torch._dynamo.config")
    return getattr(config, "recompile_limit", None) or getattr(config, "cache_size_limit", None)


def _why(track):
    """Why nothing was compiled for a call of a function that has entries."""
    c = sys.modules.get("torch._C._dynamo.eval_frame")
    limit = _limit()
    try:
        entries = len(c._debug_get_cache_entry_list(track.code))
    except Exception:
        return "no entry"
    return "limit" if limit and entries >= limit else "no entry"


def _hit(track, entry, at):
    """_add for the usual call."""
    track.calls += 1
    open = track.open
    if open is not None and open["entry"] == entry and open["outcome"] == "hit" and open["raw"] is None:
        open["count"] += 1
        open["end"] = at
        track.changed = True
        return
    _add(track, "hit", entry, at, None, "")


def _add(track, outcome, entry, at, sizes, why):
    open = track.open
    track.changed = True
    if open is not None:
        if outcome != "compile" and open["outcome"] == outcome and open["entry"] == entry and open["why"] == why:
            if open["raw"] == sizes:
                open["count"] += 1
                open["end"] = max(open["end"], at)
                return
        if track.every and outcome != "compile" and open["outcome"] != "compile" and open["count"] < track.every:
            _merge(open, outcome, entry, at, sizes, why)
            return
        track.closed.append(open)
        track.made += 1
        if track.made >= EXACT and (track.made - EXACT) % COARSE == 0:
            track.every = max(2, 2 * track.every)
    track.open = {
        "first": track.calls, "count": 1, "start": at, "end": at, "outcome": outcome, "entry": entry, "why": why, "raw": sizes,
    }  # fmt: skip


def _merge(open, outcome, entry, at, sizes, why):
    """Counts a call to a run of calls that went otherwise."""
    shares = open.get("shares")
    if shares is None:
        shares = [{"outcome": open["outcome"], "entry": open["entry"], "why": open["why"], "count": open["count"]}]
    for share in shares:
        if (share["outcome"], share["entry"], share["why"]) == (outcome, entry, why):
            share["count"] += 1
            break
    else:
        if len(shares) >= 12:
            entry, why = -1, ""
        shares.append({"outcome": outcome, "entry": entry, "why": why, "count": 1})
    open["count"] += 1
    open["end"] = max(open["end"], at)
    ranges = open.setdefault("ranges", {})
    for raw in (open.pop("raw", None), sizes):
        for name, dim, n in raw or ():
            low, high = ranges.get((name, dim), (n, n))
            ranges[name, dim] = (min(low, n), max(high, n))
    open["raw"] = None
    if len(shares) == 1:
        return  # the sizes alone differed
    open["shares"], open["outcome"], open["entry"], open["why"] = shares, "mixed", -1, ""


def _written(open):
    """A run as it is written."""
    out = {k: v for k, v in open.items() if k not in ("raw", "ranges", "sent") and (v or k in ("entry", "first"))}
    sizes = [(n, d, v, v) for n, d, v in open.get("raw") or ()]
    sizes += [(n, d, low, high) for (n, d), (low, high) in open.get("ranges", {}).items()]
    if sizes:
        out["sizes"] = [{"name": "L['%s'].size()[%d]" % (n, d), "min": low, "max": high} for n, d, low, high in sizes]
    return out


def _drain(all=False):
    """Writes what came since the last time."""
    with _busy:
        now = _now()
        _count(all)
        parts = []
        for track in list(_tracks.values()):
            part = _take(track, now, all)
            if part is not None:
                parts.append(part)
        if parts:
            untold = "duration of calls from within compiled functions" if _state["duration"] else "duration"
            record("tcdbg_calls", {
                "pid": os.getpid(), "engine": _release(), "parts": parts, "untold": [untold, "calls of functions that were given up"],
            })


def _take(track, now, all):
    if not track.changed:
        return None
    if not track.closed and not all and track.written and now - track.written < min((now - track.open["start"]) / 8, 1e9):
        return None
    part = track.part()
    if track.closed:
        part["runs"] = [_written(run) for run in track.closed]
        for run in track.closed:
            run["sent"] = True
    part["open"] = _written(track.open)
    track.closed, track.changed, track.written = [], False, now
    return part


def _wake():
    """Starts the thread that writes, once a process."""
    if _state["wake"] is not None:
        return
    _state["wake"] = _thread.allocate_lock()
    _state["wake"].acquire()
    _thread.start_new_thread(_write, (_state["wake"],))
    atexit.register(_end)
    util = sys.modules.get("multiprocessing.util")
    if util is not None and util.Finalize is not None:
        # A process of multiprocessing ends without atexit, and forgets what its parent wanted.
        util.register_after_fork(_finalize, lambda fn: guard(fn, util))
        _finalize(util)


def _finalize(util):
    util.Finalize(None, _end, exitpriority=-1000)


def _write(wake):
    while not wake.acquire(True, INTERVAL):
        if _state["wake"] is not wake:
            return
        try:
            _drain()
        except Exception:
            failed("calls.write")


def _end():
    if os.getpid() == _state["pid"]:
        guard(_drain, True)


def _forked():
    """A forked process has the entries of its parent, and calls of its own."""
    global _busy
    _state["epoch"] = 0  # its own trace begins with it
    _busy = _thread.allocate_lock()
    _events.clear()
    _missed.clear()
    _slow.clear()
    _first[0] = None
    brackets.forget()
    for track in _tracks.values():
        entries = track.entries
        track.__init__(track.frame, track.code)
        track.entries = entries
    # The thread comes with the first compile or miss: most forked processes only load data.
    _state["pid"], _state["wake"] = os.getpid(), None
