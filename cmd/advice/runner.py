"""Runs example programs, each in a process of its own.

Reads lines of tab-separated fields, program, output folder and rounds, and answers each
with the program's exit code. torch is imported once and every program is a fork of that
process: its modules, its tracing and its exit are its own, and it starts in a tenth of
a second.
"""
import os
import sys
import traceback

os.environ["TORCH_TRACE"] = os.path.join(sys.argv[1], "unused")
import torch
import torch._dynamo
import torch._logging._internal as logs
import torch.optim

torch.set_num_threads(1)
torch.compile(lambda x: x, backend="eager")


def run(program, out, rounds):
    logs.LOG_TRACE_HANDLER.root_dir = out
    os.environ["ROUNDS"] = rounds
    os.chdir(os.path.dirname(program))
    sys.path[0] = os.getcwd()
    sys.argv = [program]
    for fd, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(os.path.join(out, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), fd)
    code = 0
    try:
        with open(program) as source:
            exec(compile(source.read(), program, "exec"), {"__name__": "__main__", "__file__": program})
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    for handler in logs.trace_log.handlers:
        handler.flush()
    os._exit(code)


print(torch.__version__, flush=True)
for line in sys.stdin:
    program, out, rounds = line.rstrip("\n").split("\t")
    child = os.fork()
    if child == 0:
        run(program, out, rounds)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
