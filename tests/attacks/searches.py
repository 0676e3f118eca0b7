"""Attacks that look for the answer: on the disk, in memory, in other processes, in the kernel's keys, on the network and in the hidden inputs."""

from attacks import Attack, system_call
from autograder.keys.key import Answer, Key
from autograder.keys.start_here import hello_shape as its_key
from ffnlab.checking.comparison import ReferenceOutputs
from ffnlab.diagnosis.mistake import KnownMistake

# What holds an answer in memory.
SECRET = tuple(kind.__name__ for kind in (Key, ReferenceOutputs, KnownMistake, Answer))

imports_the_key = Attack(
    "Imports the answer key",
    says="No module named 'autograder.keys'",
    answer=f"""
import {its_key.__name__} as key

def hello_shape(x):
    return key.{its_key.counted.__name__}(x)
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
    mark="attack: what is public is found True",
    answer="""
everywhere = !grep -rl "hello_shape" / --include="*.py" 2>/dev/null
found = [path for path in everywhere if "keys" in path or "solutions" in path]
print("attack: what is public is found", any(path.endswith("exercises/start_here.py") for path in everywhere))

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
    mark="attack: what is public is found True",
    answer="""
import os

WANTED = ("gradebook.db", "hidden_draws.json", "grading.log", "submitted", "solutions", "keys")
everywhere = [os.path.join(folder, name) for folder, folders, files in os.walk("/") for name in folders + files]
print("attack: what is public is found", any(path.endswith("exercises/start_here.py") for path in everywhere))
found = [path for path in everywhere if os.path.basename(path) in WANTED]
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
    mark=r"attack: the outermost of \d+ frames is <module>",
    answer="""
import sys

def hello_shape(x):
    frame, walked = sys._getframe(), []
    while frame is not None:
        walked.append(frame.f_code.co_name)
        for name, value in list(frame.f_locals.items()):
            if any(word in name for word in ("truth", "expected", "reference", "seeds", "points")):
                return value
        frame = frame.f_back
    print(f"attack: the outermost of {len(walked)} frames is {walked[-1]}")
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
    mark="attack: what is public is found True",
    answer=f"""
import gc

gc.unfreeze()  # brings back what was imported before it was forked
kinds = [(type(thing).__name__, thing) for thing in gc.get_objects()]
found = [thing for name, thing in kinds if name in {SECRET}]
print("attack: what is public is found", any(name == "Exercise" for name, _ in kinds))

def hello_shape(x):
    return found[0] if found else (0, 0, 0)
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
    mark="attack: refused .*/proc/0/mem.*/proc/1/mem.*/proc/self/mem",
    answer="""
import os

PLACE = id(object)  # where there is memory in the process from which it was forked, too
places = {f"/proc/{process}/mem": PLACE for process in ("self", os.getppid(), *range(1, 1000))}
refused = []
for path, place in {**places, "/dev/mem": 0, "/proc/kcore": 0}.items():
    try:
        with open(path, "rb", buffering=0) as memory:
            memory.seek(place)
            read = memory.read(8)
        raise SystemExit(f"{path} can be read")
    except OSError:
        refused.append(path)
print("attack: refused", *sorted(refused))

def hello_shape(x):
    return (0, 0, 0)
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
    mark="attack: 0 of processes, True of the machine",
    answer="""
import os

found = []
for number in range(1, 5000):
    for name in ("environ", "cmdline", "maps"):
        try:
            found.append(open(f"/proc/{number}/{name}", "rb").read())
        except OSError:
            pass

print(f"attack: {len(found)} of processes, {os.path.exists('/proc/cpuinfo')} of the machine")

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
    says="OSError|refused",
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

ABSTRACT = "\0an-attack-listens-here"  # a test listens there, outside

abstract_socket = Attack(
    "Looks for a process that listens on an abstract socket",
    says="refused",
    answer=f"""
import socket

def hello_shape(x):
    channel = socket.socket(socket.AF_UNIX)
    channel.settimeout(2)
    channel.connect({ABSTRACT!r})
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
