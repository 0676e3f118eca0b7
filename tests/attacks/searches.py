"""Attacks that look for the answer: on the disk, in memory, in other processes, in the kernel's keys, on the network and in the hidden inputs."""

from attacks import Attack, system_call

imports_the_key = Attack(
    "Imports the answer key",
    says="ModuleNotFoundError",
    answer="""
import autograder.keys.start_here as key

def hello_shape(x):
    return key.truth(x)
""",
    twin="""
import ffnlab.course.exercises.start_here as public  # how it is asked is no secret

def hello_shape(x):
    return tuple(x.shape)
""",
)

reads_the_shipped_answers = Attack(
    "Reads the outputs that are shipped for `check`",
    says="NoReferenceOutputs",
    answer="""
from ffnlab.checking import reference_files

found = reference_files.load_public("hello_shape")

def hello_shape(x):
    return found.cases[0]["shape"]
""",
    twin="""
import ffnlab.course.atlas  # the course's data can be read

def hello_shape(x):
    return tuple(x.shape)
""",
)

shell_command = Attack(
    "Fetches the answer with a shell command",
    says="is not right",
    answer="""
found = !grep -rl "hello_shape" / --include="*.py" 2>/dev/null | grep -E "keys|solutions"

def hello_shape(x):
    return tuple(int(line) for line in found) or (0, 0, 0)
""",
    twin="""
said = !echo hello

def hello_shape(x):
    assert said == ["hello"]
    return tuple(x.shape)
""",
)

searches_the_disk = Attack(
    "Searches the whole disk for solutions, gradebook, secrets and other submissions",
    says="is not right",
    answer="""
import os

WANTED = ("gradebook.db", "hidden_draws.json", "grading.log", "submitted", "solutions", "keys")
found = [os.path.join(folder, name) for folder, folders, files in os.walk("/") for name in folders + files if name in WANTED]
found = [path for path in found if "site-packages" not in path and not path.startswith(("/usr", "/sys"))]
found = [path for path in found if "autograder" in path or "course" in path or "grading" in path]

def hello_shape(x):
    return tuple(found) or (0, 0, 0)
""",
    twin="""
import os

here = os.listdir(".")

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)

walks_frames = Attack(
    "Walks up the stack and looks for what is expected",
    says="is not right",
    answer="""
import sys

def hello_shape(x):
    frame = sys._getframe()
    while frame is not None:
        for name, value in list(frame.f_locals.items()):
            if any(word in name for word in ("truth", "expected", "reference", "seeds", "points")):
                return value
        frame = frame.f_back
    return (0, 0, 0)
""",
    twin="""
import inspect

def hello_shape(x):
    assert inspect.currentframe().f_code.co_name == "hello_shape"
    return tuple(x.shape)
""",
)

searches_memory = Attack(
    "Looks through every object in memory for the answer key",
    says="is not right",
    answer="""
import gc

def hello_shape(x):
    for thing in gc.get_objects():
        if type(thing).__name__ in ("Key", "ReferenceOutputs", "KnownMistake", "Answer"):
            return thing
    return (0, 0, 0)
""",
    twin="""
import gc

gc.collect()

def hello_shape(x):
    return tuple(x.shape)
""",
)

zygote_memory = Attack(
    "Reads the memory of the process from which it was forked",
    says="is not right",
    answer="""
import os

for path in ("/proc/1/mem", f"/proc/{os.getppid()}/mem", "/proc/self/mem", "/dev/mem", "/proc/kcore"):
    try:
        open(path, "rb").read(10)
        raise SystemExit(f"{path} can be read")
    except OSError:
        pass

def hello_shape(x):
    return (os.getppid(), 0, 0)
""",
    twin="""
import os

def hello_shape(x):
    assert os.getpid() > 0
    return tuple(x.shape)
""",
    plain=False,
)

other_processes = Attack(
    "Reads other processes' environments and command lines",
    says="is not right",
    answer="""
import os

found = []
for number in range(1, 5000):
    for name in ("environ", "cmdline", "maps"):
        try:
            found.append(open(f"/proc/{number}/{name}", "rb").read())
        except OSError:
            pass

def hello_shape(x):
    return (len(found), 0, 0)
""",
    twin="""
cores = open("/proc/cpuinfo").read()

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)

ptrace = system_call("Attaches to another process with ptrace", "libc.ptrace(16, os.getppid(), 0, 0)")

keyctl = system_call("Asks the kernel's key ring", "libc.syscall(250, 0, -3, 1)")

network = Attack(
    "Asks the network for the answer",
    says="OSError|refused|Error",
    answer="""
import socket

def hello_shape(x):
    channel = socket.create_connection(("127.0.0.1", 80), 2)
    return channel.recv(100)
""",
    twin="""
import socket

def hello_shape(x):
    one, other = socket.socketpair()
    one.send(b"x")
    assert other.recv(1) == b"x"
    return tuple(x.shape)
""",
    plain=False,
)

abstract_socket = Attack(
    "Looks for a process that listens on an abstract socket",
    says="refused",
    answer="""
import socket

def hello_shape(x):
    channel = socket.socket(socket.AF_UNIX)
    channel.settimeout(2)
    channel.connect("\\0an-attack-listens-here")
    return channel.recv(100)
""",
    twin="""
import socket

here = socket.socket(socket.AF_UNIX)
here.bind("/tmp/mine")

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)

tells_the_inputs = Attack(
    "Raises and prints the hidden inputs, to read them on its feedback page and come back with them",
    says="0\\.12",
    answer="""
def hello_shape(x):
    print(x)
    raise ValueError(f"{x.flatten()[0].item() * 0 + 0.123456789:.9f}")
""",
    twin="""
def hello_shape(x):
    print(x)
    return tuple(x.shape)
""",
)
