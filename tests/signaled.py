"""The command as a script, with stubs for figures (STUBS=1) and a signal to itself when MOMENT is imported.

Every process that the command starts imports this file again, and so knows the stubs too. The signal is sent
inside the callback of a weak reference, where an exception would be lost.
"""

import ctypes
import importlib.abc
import os
import signal
import sys
import time
import weakref
from pathlib import Path

OUT = Path(sys.argv[-1])


class Moment(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == os.environ["MOMENT"]:
            sys.meta_path.remove(self)
            mortal = type("Mortal", (), {})()
            reference = weakref.ref(mortal, lambda _: os.kill(os.getpid(), signal.SIGINT))
            del mortal, reference


def here():
    (OUT / f"{os.getpid()}.here").touch()


def deaf(*_):
    """Never comes back from a compiled call that holds the interpreter."""
    here()
    ctypes.PyDLL(None).sleep(3600)


def asleep(*_):
    here()
    time.sleep(3600)


def register():
    from biasfree import stopping
    from biasfree_papers.registry import REGISTRY
    from stubs import stub

    runs = {"quick": None, "deaf": deaf, "asleep": asleep}
    REGISTRY._found = {name: stub(name, run=run) for name, run in runs.items()}  # no other one is imported
    if "asleep" in sys.argv:  # as on systems where the kernel does not help
        stopping._PR_SET_PDEATHSIG = 0


if "STUBS" in os.environ:
    register()

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
    if "MOMENT" in os.environ:
        sys.meta_path.insert(0, Moment())
    (OUT / "ready").touch()
    from biasfree.cli import main

    main()
