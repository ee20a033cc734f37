"""Interrupts amid a fork. Python reports what is raised in the callbacks of a fork and goes on without it, so
that an interrupt which comes while ours run would be lost: it is held, and comes when the fork is over.
"""

import signal
import threading
import time


class Interrupts:
    """Holds SIGINT from before a fork until after it, in both processes."""

    def __init__(self):
        self.handler = None
        self.came = False

    def _note(self, *_):
        self.came = True

    def hold(self):
        self.handler, self.came = None, False
        try:
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                signal.signal(signal.SIGINT, self._note)
                self.handler = handler
        except ValueError:  # another thread than the main one forks: handlers do not run in it
            pass
        except KeyboardInterrupt:
            self.came = True

    def release(self):
        handler, self.handler = self.handler, None
        try:
            if handler is not None:
                signal.signal(signal.SIGINT, handler)
        except KeyboardInterrupt:
            self.came = True
        if self.came:
            self.came = False
            threading.Thread(target=_again, name="tcdbg interrupt", daemon=True).start()


def _again():
    """Sends the interrupt again, once the callbacks of the fork are over: they take a few microseconds."""
    time.sleep(0.02)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
