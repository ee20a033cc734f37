"""Lines and calls of Python code, watched only while somebody needs them.

From 3.12 on by sys.monitoring: every thread, and a place that nobody asks for costs one
event. Before that by sys.settrace, which knows one thread: it is set in the main thread by a
pending call, in a new thread at its start, and in another one when it next passes a hook.
"""

import sys
import threading

from . import failed, frames, hooked

MONITORING = sys.version_info >= (3, 12)


class Lines:
    """Calls session.line(frame) before each line that is wanted, session.entered(frame) for calls."""

    def __init__(self, session):
        self.session = session
        self.on = False
        self.refused = ""
        self.engine = _Monitoring(self) if MONITORING else _Tracing(self)

    def arm(self, on):
        """Watches, or ends it. From any thread."""
        if on:
            self.refused = self.engine.start()
        elif self.on:
            self.engine.stop()
        self.on = on and not self.refused

    def here(self, frame):
        """Has this thread watched from now on, frame and what called it included."""
        if self.on:
            self.engine.here(frame)

    def limits(self):
        """What this Python cannot do, in words."""
        return self.engine.limits


class _Monitoring:
    limits = ()

    # Where the compiler tells whether guards held, generated code is a call that an entry serves
    # only after they did: it runs after a compile, too.
    tells_hits = False

    def __init__(self, lines):
        self.session = lines.session
        self.tool = None
        self.served = set()  # threads whose next generated code is such a call

    def start(self):
        m = sys.monitoring
        if self.tool is None:
            for tool in (m.DEBUGGER_ID, 3, 4):
                if m.get_tool(tool) is None:
                    m.use_tool_id(tool, "tcdbg")
                    self.tool = tool
                    break
            else:
                return "sys.monitoring has no free tool: %s use it" % ", ".join(
                    str(m.get_tool(t)) for t in (m.DEBUGGER_ID, 3, 4)
                )
            m.register_callback(self.tool, m.events.LINE, self.line)
            m.register_callback(self.tool, m.events.PY_START, self.start_of)
        m.set_events(self.tool, m.events.LINE | m.events.PY_START)
        m.restart_events()
        return ""

    def stop(self):
        if self.tool is not None:
            sys.monitoring.set_events(self.tool, 0)

    def here(self, frame):
        pass

    def line(self, code, line):
        session = self.session
        if not session.wants_line(code, line, threading.get_ident()):
            # Another thread may want what this one does not.
            return None if session.wants_lines_of_any(code, line) else sys.monitoring.DISABLE
        hooked(session.line, sys._getframe(1))

    def start_of(self, code, offset):
        session = self.session
        if not session.wants_entry(code):
            return sys.monitoring.DISABLE
        if self.tells_hits and frames.is_generated(code):
            if threading.get_ident() not in self.served:
                return
            self.served.discard(threading.get_ident())
        hooked(session.entered, sys._getframe(1))

    def next_call(self, session, hit):
        """The guards of a compiled function held in this thread, or none did."""
        if hit:
            self.served.add(threading.get_ident())
        else:
            self.served.discard(threading.get_ident())


class _Tracing:
    limits = (
        "before Python 3.12 a thread that runs already is stopped at lines only after it has passed a compiled call or a compile",
    )

    def __init__(self, lines):
        self.session = lines.session
        self.armed = False
        self.pending = None  # keeps the callback alive

    def start(self):
        self.armed = True
        threading.settrace(self.trace)
        if threading.current_thread() is threading.main_thread():
            self.here(sys._getframe(1))
            return ""
        try:
            import ctypes

            if self.pending is None:
                self.pending = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.in_main)
            ctypes.pythonapi.Py_AddPendingCall(self.pending, None)
        except (ImportError, AttributeError):
            return "this Python has no ctypes, so that its main thread cannot be reached"
        return ""

    def stop(self):
        self.armed = False
        threading.settrace(None)
        if sys.gettrace() is self.trace_of_ours():
            sys.settrace(None)

    def trace_of_ours(self):
        got = sys.gettrace()
        return got if getattr(got, "__self__", None) is self else None

    def in_main(self, _):
        try:
            if self.armed:
                self.here(sys._getframe(1))
        except Exception:
            failed("lines.in_main")
        return 0

    def here(self, frame):
        """Traces this thread, its running frames included. A tracer of the user's is left alone."""
        if not self.armed:
            return
        if sys.gettrace() is None:
            sys.settrace(self.trace)
        elif self.trace_of_ours() is None:
            self.session.other_tracer(sys.gettrace())
            return
        while frame is not None:
            if frames.kind_of(frame.f_code) in (frames.USER, frames.LIBRARY):
                frame.f_trace = self.local
            frame = frame.f_back

    def next_call(self, session, hit):
        """Hands the next call of this thread to the session: after the guards of a compiled
        function held, it is that of its code."""
        if not hit:
            return
        if sys.gettrace() is not None:
            return  # calls are seen anyway, or the user's tracer has the thread

        def once(frame, event, arg):
            sys.settrace(None)
            if event == "call" and frames.is_generated(frame.f_code) and session.wants_entry(frame.f_code):
                hooked(session.entered, frame)
            return None

        sys.settrace(once)

    def trace(self, frame, event, arg):
        if not self.armed:
            sys.settrace(None)
            return None
        if event != "call":
            return None
        code = frame.f_code
        if self.session.wants_entry(code):
            hooked(self.session.entered, frame)
        return self.local if self.session.wants_code(code) and not self.session.passes(frame) else None

    def local(self, frame, event, arg):
        if not self.armed:
            frame.f_trace = None
            if self.trace_of_ours() is not None:
                sys.settrace(None)
            return None
        if event == "line" and self.session.wants_line(frame.f_code, frame.f_lineno, threading.get_ident()):
            hooked(self.session.line, frame)
        return self.local
