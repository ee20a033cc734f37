"""Stops the program where tcdbg asks for it: the channel of commands.

The viewer listens on a unix socket that TCDBG_PAUSE names. Each process of the program connects
at its start and after a fork, says who it is, and gets the commands that stand; later ones are
received by a thread. Without a viewer the program runs as it would without us.
"""

import atexit
import json
import os
import socket
import sys
import threading

from . import forks, guard, rank, when
from .session import Session

SOCKET = "TCDBG_PAUSE"
PATIENCE = 5.0  # seconds for the viewer's first commands


class Channel:
    """The connection of this process, and the thread that reads it."""

    def __init__(self, session):
        self.session = session
        self.socket = None
        self.rest = b""
        self.thread = None
        self.wake = None  # ends the thread when it is written to

    def connect(self):
        """Connects and carries out the commands that stand, before the program goes on."""
        path = os.environ.get(SOCKET, "")
        if not path:
            return
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            s.settimeout(PATIENCE)
            s.connect(path)
            hello = {"pid": os.getpid(), "argv": getattr(sys, "orig_argv", None) or [sys.executable]}
            if rank() is not None:
                hello["rank"] = rank()
            s.sendall(json.dumps(hello).encode() + b"\n")
            self.socket, self.rest = s, b""
            while True:
                c = self.next()
                if c is None or c.get("verb") == "ready":
                    break
                guard(self.session.command, c)
            s.settimeout(None)
        except OSError:  # nobody is there
            self.socket = None
            s.close()

    def next(self):
        """The next command, None at the end."""
        while b"\n" not in self.rest:
            data = self.socket.recv(65536)
            if not data:
                return None
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def listen(self):
        """Starts the thread that receives."""
        if self.socket is None:
            return
        ours, self.wake = socket.socketpair()
        self.thread = threading.Thread(target=self.receive, args=(self.socket, ours), name="tcdbg", daemon=True)
        self.thread.start()

    def receive(self, s, wake):
        import select

        poll = select.poll()
        poll.register(s, select.POLLIN)
        poll.register(wake, select.POLLIN)
        try:
            while True:
                if b"\n" not in self.rest:
                    ready = [fd for fd, _ in poll.poll()]
                    if wake.fileno() in ready:
                        return
                c = self.next()
                if c is None or c.get("verb") == "leave":
                    break
                guard(self.session.command, c)
        except (OSError, ValueError):
            c = None
        finally:
            wake.close()
        s.close()
        self.socket = None
        guard(self.session.command, c or {"verb": "leave"})

    # A fork. The thread is no part of the program: it must hold no lock then, and Python warns
    # of forks in programs that have threads.

    def before_fork(self):
        thread, self.thread = self.thread, None
        if thread is not None and thread is not threading.current_thread():
            self.wake.close()
            thread.join()

    def in_parent(self):
        if self.socket is not None:
            self.listen()

    def in_child(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None
        session = self.session
        session.lock = threading.RLock()
        session.reset()
        with session.lock:
            session.rearm()
        self.connect()
        self.listen()


def ours_to_stop():
    """Whether this process runs code of the user's: the helpers of PyTorch and Python do not."""
    words = getattr(sys, "orig_argv", None)
    if words is None:
        try:
            with open("/proc/self/cmdline", "rb") as f:
                words = f.read().decode(errors="replace").split("\0")
        except OSError:
            return True
    text = " ".join(words)
    helpers = (
        "torch._inductor.compile_worker", "torch/_inductor/compile_worker", "multiprocessing.resource_tracker",
        "torch.distributed.run ", "torch.distributed.launch ", "/torchrun ",
    )  # fmt: skip
    return not any(h in text + " " for h in helpers)


def start():
    if not os.environ.get(SOCKET) or not ours_to_stop():
        return
    session = Session()
    channel = Channel(session)
    from . import dynamo

    session.ready_hooks.append(dynamo.Hooks(session).arm)
    when("torch", lambda module: _forget())
    with session.lock:
        session.rearm()
    channel.connect()
    channel.listen()
    # After what the program has registered: its last lines can be stopped at, too.
    atexit.register(lambda: guard(session.do_leave, {}))
    if hasattr(os, "register_at_fork"):
        interrupts = forks.Interrupts()

        def before():
            interrupts.hold()
            guard(channel.before_fork)

        def after(step):
            guard(step)
            interrupts.release()

        os.register_at_fork(
            before=before,
            after_in_parent=lambda: after(channel.in_parent),
            after_in_child=lambda: after(channel.in_child),
        )


def _forget():
    from . import frames

    frames.forget_kinds()
