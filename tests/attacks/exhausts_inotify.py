"""Takes one of the few inotify instances that a user may have"""

from attacks import system_call

attack = system_call("libc.inotify_init1(0)")
