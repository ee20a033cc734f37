"""Steady steps of the program, recorded with torch.profiler.

A step goes from one outermost call of a compiled function to the next call of the same one, so
that it has the backward pass and the optimizer in it. Recording begins when calls have
compiled nothing for a while, ends after TCDBG_PROFILE steps, and is given up and begun again
later where a compile comes in between. One more step is recorded with Python stacks and memory,
whose times nobody believes. The Chrome traces lie beside the program's TORCH_TRACE; a record
tells of them, or why there is none.
"""

import os
import sys
import threading
import _thread

from . import TRACE, guard, outermost, rank, record, when, wrappers
from .stops import dynamo_off

STEPS = "TCDBG_PROFILE"
STEP = "tcdbg_step"  # marks in the trace: a step goes from one to the next
QUIET = 3  # calls without a compile before it begins
TRIES = 5


def start():
    steps = int(os.environ.get(STEPS) or 0)
    if steps <= 0:
        return
    global _profile
    _profile = _Profile(steps)
    when("torch._inductor.config", _kernels)
    when("torch.autograd.profiler", _yield)
    outermost.compiling(_compiled)
    when("torch._dynamo.eval_frame", _watch)
    import atexit

    atexit.register(lambda: guard(_profile.end))


_profile = None


def _kernels(config):
    """Has each C++ kernel write an event, which Triton kernels do by themselves."""
    if hasattr(config.cpp, "enable_kernel_profile"):
        config.cpp.enable_kernel_profile = True
    else:
        _profile.problem("this PyTorch does not record C++ kernels one by one")
    import torch.version

    if tuple(int(n) for n in torch.version.__version__.split(".")[:2]) < (2, 8):
        config.profiler_mark_wrapper_call = True  # later ones mark calls of graphs by themselves


def _compiled():
    _profile.compiled = True


def _yield(module):
    """A program that begins a profiler of its own has it: two cannot be at work."""
    plain = module._prepare_profiler

    def _prepare_profiler(*args, **kwargs):
        if not _profile.starting:
            guard(_profile.give_way)
        return plain(*args, **kwargs)

    module._prepare_profiler = _prepare_profiler


_inside = set()  # threads that are in an outermost call


def _watch(module):
    why = wrappers.unsupported(module)
    if why:
        _profile.problem("steps of this PyTorch are not seen: " + why)
    else:
        wrappers.watch(_begins)


def _begins(call):
    """A compiled function is about to run."""
    ident = _thread.get_ident()
    if ident in _inside:
        return
    _inside.add(ident)
    call.at_end(lambda: _inside.discard(ident))
    if not _profile.over:
        with dynamo_off():
            _profile.before(call.function)


OTHER_THREADS = "calls of a thread other than the main one are not recorded"


class _Profile:
    def __init__(self, steps):
        self.wanted = steps
        self.pid = os.getpid()
        self.over = False
        self.called = False  # in the main thread
        self.compiled = False  # since the call before
        self.quiet = 0
        self.tries = 0
        self.thread = self.function = None  # whose calls begin steps
        self.profiler = None
        self.starting = False
        self.stacks = False
        self.steps = 0
        self.files = {}
        self.problems = []

    def problem(self, text):
        if text not in self.problems:
            self.problems.append(text)

    def before(self, fn):
        """An outermost call of a function is about to be made."""
        if self.pid != os.getpid():  # a forked worker
            self.over = True
            return
        if threading.current_thread() is not threading.main_thread():
            # PyTorch's profiler complains on standard error where it is begun in another thread first,
            # and where its thread has ended.
            self.problem(OTHER_THREADS)
            return
        self.called = True
        compiled, self.compiled = self.compiled, False
        if self.profiler is None:
            self.quiet = 0 if compiled else self.quiet + 1
            if self.quiet > QUIET:
                self.begin(fn)
            return
        if compiled:
            self.discard()
            return
        if self.thread != _thread.get_ident() or self.function is not fn:
            return
        self.mark()
        self.steps += 1
        if self.steps < (1 if self.stacks else self.wanted):
            return
        if self.stacks:
            self.keep("stacks")
            self.finish()
        else:
            self.keep("times")
            self.stacks, self.steps = True, 0
            self.open()

    def begin(self, fn):
        self.thread, self.function = _thread.get_ident(), fn
        self.stacks, self.steps = False, 0
        self.open()

    def open(self):
        import torch

        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
            torch.cuda.synchronize()
        more = {}
        if "acc_events" in torch.profiler.profile.__init__.__code__.co_varnames:
            more["acc_events"] = True  # there is one cycle, and some releases warn where it is not
        if self.stacks:
            more.update(with_stack=True, profile_memory=True)
            config = getattr(torch._C._profiler, "_ExperimentalConfig", None)
            if config is not None:
                more["experimental_config"] = config(verbose=True)
        profiler = torch.profiler.profile(activities=activities, **more)
        self.starting = True
        try:
            profiler.start()
        except Exception as e:
            self.over = True
            self.problem("the profiler did not start: %s" % e)
            self.finish()
            raise
        finally:
            self.starting = False
        self.profiler = profiler
        self.mark()

    def mark(self):
        import torch

        with torch.profiler.record_function(STEP):
            pass

    def close(self):
        """Ends recording; what was recorded."""
        import torch

        profiler, self.profiler = self.profiler, None
        if profiler is None:
            return None
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.synchronize()
        profiler.stop()
        return profiler

    def discard(self):
        """A compile came in between."""
        self.close()
        self.quiet = 0
        self.tries += 1
        if self.tries >= TRIES:
            self.problem("the program compiled again and again while its steps were recorded: Recompiles says why")
            self.finish()

    def give_way(self):
        if self.over:
            return
        self.over = True
        self.close()
        self.problem("the program began a profiler of its own; tcdbg replay reads the Chrome trace that it writes")
        self.finish()

    def keep(self, what):
        """Writes the Chrome trace, under its name once it is whole."""
        profiler = self.close()
        folder = os.environ.get(TRACE)
        if profiler is None or not folder:
            return
        where = "" if rank() is None else "_rank_%d" % rank()
        name = "tcdbg_profile_%d%s_%s.json.gz" % (self.pid, where, what)
        hidden = os.path.join(folder, "." + name)
        profiler.export_chrome_trace(hidden)
        os.rename(hidden, os.path.join(folder, name))
        self.files[what] = name

    def finish(self):
        self.over, self.function = True, None
        wrappers.unwatch(_begins)
        record("tcdbg_profiled", {"pid": self.pid, "files": self.files, "problems": self.problems})

    def end(self):
        """The program ends."""
        if self.over or self.pid != os.getpid():
            return
        begun = self.profiler is not None
        if self.profiler is not None and not self.stacks and self.steps > 0:
            self.problem("the program ended after %d of %d steps" % (self.steps, self.wanted))
            self.keep("times")
        elif self.profiler is not None:
            self.close()
        if "times" not in self.files:
            if "torch" not in sys.modules:
                return
            if not self.called and OTHER_THREADS in self.problems:
                self.problems.remove(OTHER_THREADS)
                self.problem("nothing was recorded: threads other than the main one call the compiled functions, "
                             "and their calls are not recorded")
            elif not self.called and self.problems:
                pass  # which is why
            elif begun:
                self.problem("the program ended before a step was recorded whole: let it run a few steps more")
            elif self.tries:
                self.problem("the program compiled while its steps were recorded, and ended before others were: let it run more steps")
            else:
                self.problem("the program ended before %d calls in a row had compiled nothing: let it run more steps" % (QUIET + 1))
        self.finish()
