"""What can go wrong with a jail, and with what runs in one."""

from __future__ import annotations


class JailBroken(RuntimeError):
    """The jail can't be started or has died: our fault, never the student's. One line, with what to do."""


class JailWontStart(JailBroken):
    """There is no jail to be had on this machine as it is."""


class JailRefuses(JailWontStart):
    """The jail has started, and what must hold in it does not: trying again would not help."""


class OutsideKill(JailBroken):
    """SIGKILL has ended a process that serves a submission, and it was sent neither by us nor by the submission: the kernel is short of memory, or
    somebody else sent it. The jail itself is as it was.
    """


class Overrun(Exception):
    """A submission went beyond a limit, or its process died; `str()` says which in a student's words."""
