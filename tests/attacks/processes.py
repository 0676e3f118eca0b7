"""Attacks by time and processes: they never end, end at once, multiply, outlive the grader, or kill what they can."""

from attacks import NAMED, Attack, with_first_cells

endless_loop = Attack(
    "Never ends",
    says="longer than",
    answer="""
def hello_shape(x):
    while True:
        pass
""",
    twin="""
def hello_shape(x):
    while True:
        return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

waits_for_input = Attack(
    "Waits for somebody to type",
    says="EOFError",
    answer="""
def hello_shape(x):
    return input("Points? ")
""",
    twin="""
def hello_shape(x, ask=input):
    return tuple(x.shape)
""",
    plain=False,
)

swallows_every_signal = Attack(
    "Never ends and swallows every exception and signal",
    says="longer than",
    answer="""
import signal

for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass

def hello_shape(x):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
""",
    twin="""
import signal

signal.signal(signal.SIGUSR1, signal.SIG_IGN)

def hello_shape(x):
    try:
        return tuple(x.shape)
    except BaseException:
        raise
""",
    plain=False,
    exhausts=True,
)

stops_itself = Attack(
    "Stops its own process",
    says="longer than|stood still",
    mark="attack: it is stopped True",
    answer="""
import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)  # does nothing where it is the first process of its namespace
child = os.fork()
while child == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
print("attack: it is stopped", os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]))

def hello_shape(x):
    os.waitpid(child, 0)
""",
    twin="""
import time

def hello_shape(x):
    time.sleep(0.1)
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

leaves_at_once = Attack(
    "Ends the process that runs it",
    says="ended",
    answer="""
import os

def hello_shape(x):
    os._exit(0)
""",
    twin="""
def hello_shape(x):
    try:
        raise SystemExit
    except SystemExit:
        return tuple(x.shape)
""",
)

pretends_to_be_killed = Attack(
    "Ends its process in every way that might pass for a kill from outside, which would cost it nothing",
    says="ended without an answer",
    mark="attack: it has outlived 11 ways|never defined",
    answer="""
import contextlib
import ctypes
import fcntl
import os
import platform
import resource
import signal
import struct
import threading

libc = ctypes.CDLL(None)
queue, queue_to_thread, own = {"x86_64": (129, 297, 186), "aarch64": (138, 240, 178)}[platform.machine()]
FROM_THE_KERNEL = ctypes.create_string_buffer(struct.pack("iii", signal.SIGKILL, 0, 0x80), 128)

def spins():
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    while True:
        pass

def asks_for_a_signal():
    for number in range(256):
        with contextlib.suppress(OSError):
            fcntl.fcntl(number, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(number, 10, signal.SIGKILL)  # F_SETSIG
            fcntl.fcntl(number, fcntl.F_SETFL, fcntl.fcntl(number, fcntl.F_GETFL) | os.O_ASYNC)

WAYS = (
    lambda: os.kill(1, signal.SIGKILL),
    lambda: os.kill(0, signal.SIGKILL),
    lambda: signal.pthread_kill(threading.get_ident(), signal.SIGKILL),
    lambda: signal.pidfd_send_signal(os.pidfd_open(1), signal.SIGKILL),
    lambda: libc.syscall(424, os.pidfd_open(1), signal.SIGKILL, FROM_THE_KERNEL, 0),
    lambda: libc.syscall(queue, 1, signal.SIGKILL, FROM_THE_KERNEL),
    lambda: libc.syscall(queue_to_thread, 1, libc.syscall(own), signal.SIGKILL, FROM_THE_KERNEL),
    lambda: libc.prctl(1, signal.SIGKILL),  # when the parent ends
    lambda: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0)),
    spins,
    asks_for_a_signal,
)

def try_all():
    for way in WAYS:
        with contextlib.suppress(OSError, ValueError):
            way()

try_all()
print("attack: it has outlived", len(WAYS), "ways")

def hello_shape(x):
    try_all()
    os._exit(128 + signal.SIGKILL)
""",
    twin="""
import os
import resource
import signal
import subprocess

def hello_shape(x):
    assert resource.getrlimit(resource.RLIMIT_CPU) and resource.prlimit(0, resource.RLIMIT_CPU)
    for send in (os.kill, lambda number, sent: signal.pidfd_send_signal(os.pidfd_open(number), sent)):
        child = subprocess.Popen(["sleep", "60"])
        send(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    return tuple(x.shape)
""",
    plain=False,
)


dying_cells = Attack(
    "Ends its process in hundreds of cells: each costs a new one, and all cells before it again",
    says="more than 8 times",
    submission=lambda notebook: with_first_cells(notebook, *["import os\nos._exit(0)"] * 990),
    twin_submission=lambda notebook: with_first_cells(notebook, *["import os\nos.getpid()"] * 5),
    plain=False,
    exhausts=True,
)

thread_bomb = Attack(
    "Starts threads without end",
    says="thread|ended|longer",
    answer="""
import threading
import time

def hello_shape(x):
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
""",
    twin="""
import threading

def hello_shape(x):
    sizes = []
    thread = threading.Thread(target=sizes.extend, args=(x.shape,))
    thread.start()
    thread.join()
    return tuple(sizes)
""",
    plain=False,
    exhausts=True,
)

fork_bomb = Attack(
    "Forks without end",
    says="processes|longer|ended",
    answer="""
import os

def hello_shape(x):
    while True:
        try:
            os.fork()
        except OSError:
            pass
""",
    twin="""
import os

def hello_shape(x):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

spinning_children = Attack(
    "Lets children compute, and goes last itself so that its own clock stands still",
    says="longer than",
    answer="""
import os

def hello_shape(x):
    for _ in range(8):
        if os.fork() == 0:
            while True:
                pass
    try:
        os.nice(19)
    except OSError:
        pass
    while True:
        pass
""",
    twin="""
import os

def hello_shape(x):
    child = os.fork()
    if child == 0:
        sum(range(10**5))
        os._exit(0)
    os.waitpid(child, 0)
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

odd_process_names = Attack(
    "Gives its processes and threads names that no text can hold, or that look like lines of /proc, and lets them spin",
    says="longer than",
    mark="attack: a process is called b'x. R 1 1 1 1'",
    answer=NAMED
    + r"""
NAMES = (b"\xff\xfe", b"x) R 1 1 1 1", b"a\nUid:\t0\n", b"\rTgid:\t1", b"\x0cNSpid:\t7", b"\x85VmPTE: 9 kB")
SPIN = "import _thread\ndef spin():\n    while True: pass\n_thread.start_new_thread(spin, ())\nspin()"
paths = [named(name) for name in NAMES]

def hello_shape(x):
    for path in paths:
        subprocess.Popen([path, "-S", "-c", SPIN])
    while True:
        pass
""",
    twin=NAMED
    + r"""
path = named("Schüler".encode("latin-1"))

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
    beside=True,
)

detached_child = Attack(
    "Starts a process that tries to outlive the grader",
    says="is not right",
    mark="attack: it runs True",
    answer="""
import subprocess

child = subprocess.Popen(["sleep", "3333"], start_new_session=True)

def hello_shape(x):
    print("attack: it runs", child.poll() is None)
    return (0, 0, 0)
""",
    twin="""
import subprocess

said = subprocess.run(["echo", "3"], capture_output=True, text=True).stdout

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)

kills_everything = Attack(
    "Kills every process that it can see",
    says="is not right",
    mark="attack: its own child was ended by -9",
    answer="""
import os
import signal
import subprocess

child = subprocess.Popen(["sleep", "60"])

def hello_shape(x):
    for number in (-1, *range(2, 40000)):
        try:
            os.kill(number, signal.SIGKILL)
        except OSError:
            pass
    print("attack: its own child was ended by", child.wait())
    return (0, 0, 0)
""",
    twin="""
import subprocess

def hello_shape(x):
    child = subprocess.Popen(["sleep", "60"])
    child.kill()
    child.wait()
    return tuple(x.shape)
""",
    plain=False,
)
