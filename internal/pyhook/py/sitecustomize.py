# Python runs this file at its start, because tcdbg put its folder first on PYTHONPATH. It
# loads the hooks of tcdbg, takes the folder off sys.path, and then runs the sitecustomize
# that the program would have had. Any Python can read it, also one that is too old for
# the hooks.
import os
import sys


def _load_hooks(here):
    if sys.version_info < (3, 9):
        return
    sys.path.insert(0, here)
    try:
        import tcdbg_hooks

        tcdbg_hooks.start()
    except Exception:
        pass  # the program runs without us
    finally:
        sys.path[:] = [p for p in sys.path if p != here]


def _chain():
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        spec = find("sitecustomize", None) if find else None
        if spec is not None and spec.loader is not None:
            break
    else:
        # Python takes this for a program that has none, and forgets our module.
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    from importlib._bootstrap import module_from_spec

    module = module_from_spec(spec)
    # Import hands out what is here at the end: the program sees its own module.
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _start():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]
    _load_hooks(here)
    _chain()


_start()
