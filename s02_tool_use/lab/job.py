"""A function in a thread of its own that can be stopped as Ctrl-C stops what runs in a terminal.

A Python thread cannot be ended from outside. What can be done is to raise an exception in it, at its next line.
"""

import ctypes
import threading


class Job:
    """A function in a thread of its own. `value` or `error` is what came out; `then(job)` is told when it has ended."""

    def __init__(self, function, then=lambda job: None):
        self.value = self.error = None
        self.done = False
        self._lock = threading.Lock()
        self._function, self._then = function, then
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            try:
                self.value = self._function()
            finally:
                with self._lock:  # from here on nobody interrupts
                    self.done = True
        except BaseException as error:
            self.error = error
            self.done = True
        self._then(self)

    def stop(self):
        """Raise KeyboardInterrupt in it, at its next line of Python: what waits outside Python wakes up first."""
        with self._lock:
            if not self.done:
                interrupt = ctypes.py_object(KeyboardInterrupt)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread.ident), interrupt)
