"""Attacks that replace or hook the code around the answer: the check, comparisons, modules, IPython, and what runs when nobody looks."""

from attacks import Attack

patched_check = Attack(
    "Replaces the course's own check, panel and verdict",
    says="is not right",
    mark="attack: checks say 2.0 2.0 2.0",
    answer="""
import ffnlab
import ffnlab.checking.comparison
import ffnlab.checking.verdict

ffnlab.check = check = lambda name, answer, **options: 2.0
ffnlab.checking.comparison.compare = lambda *args, **kwargs: 2.0
ffnlab.checking.verdict.Verdict.points = 2.0

def hello_shape(x):
    print("attack: checks say", check("hello_shape", None), ffnlab.checking.comparison.compare(), ffnlab.checking.verdict.Verdict.points)
    return (0, 0, 0)
""",
    twin="""
def my_check(answer):
    return answer is not None

def hello_shape(x):
    assert my_check(x)
    return tuple(x.shape)
""",
)

patched_comparisons = Attack(
    "Replaces torch's and numpy's comparisons by ones that say yes",
    says="is not right",
    mark="attack: unequal is equal True True",
    answer="""
import numpy
import torch

yes = lambda *args, **kwargs: True
torch.equal = torch.allclose = torch.isclose = torch.testing.assert_close = yes
torch.Tensor.__eq__ = yes
numpy.testing.assert_allclose = numpy.allclose = numpy.array_equal = yes

def hello_shape(x):
    print("attack: unequal is equal", torch.equal(x, x + 1), numpy.allclose(0, 1))
    return (0, 0, 0)
""",
    twin="""
import torch

def close(a, b):
    return torch.allclose(a, b)

def hello_shape(x):
    assert close(x, x)
    return tuple(x.shape)
""",
)

patched_builtins = Attack(
    "Replaces builtins by ones that say yes",
    says="ended without an answer|is not right",
    mark="ended without an answer|attack: a text is a number True",
    answer="""
import builtins

builtins.isinstance = lambda *args: True
builtins.all = builtins.any = lambda *args: True
builtins.abs = lambda x: 0
builtins.AssertionError = KeyboardInterrupt

def hello_shape(x):
    print("attack: a text is a number", isinstance("", int))
    return (0, 0, 0)
""",
    twin="""
def hello_shape(x):
    max = 3  # hides a builtin, harmlessly
    return tuple(x.shape[:max])
""",
)

patched_assertions = Attack(
    "Deletes every assert with a transformer of the syntax tree",
    says="is not right",
    mark=r"attack: an assert becomes pass\b",
    answer="""
import ast

class NoAsserts(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()

get_ipython().ast_transformers.append(NoAsserts())

def hello_shape(x):
    print("attack: an assert becomes", ast.unparse(get_ipython().transform_ast(ast.parse("assert False"))))
    return (0, 0, 0)
""",
    twin="""
import ast

def hello_shape(x):
    assert ast.literal_eval("3") == x.dim()
    return tuple(x.shape)
""",
)

blanked_cells = Attack(
    "Blanks every later cell with an input transformer",
    says="is not right",
    mark=r"attack: a later cell becomes pass\b",
    answer="""
get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\\n"])

def hello_shape(x):
    print("attack: a later cell becomes", get_ipython().transform_cell("1 / 0"))
    return (0, 0, 0)
""",
    twin="""
lines = ["a", "b"]
cleanup = [line.strip() for line in lines]

def hello_shape(x):
    return tuple(x.shape)
""",
)

patched_results = Attack(
    "Makes IPython say that every cell succeeded",
    says="is not right",
    mark="attack: an error is a success True",
    answer="""
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

ExecutionResult.success = property(lambda self: True)
ExecutionResult.raise_error = lambda self: None
InteractiveShell.showtraceback = lambda *args, **kwargs: None

def hello_shape(x):
    result = ExecutionResult(None)
    result.error_in_exec = ValueError()
    print("attack: an error is a success", result.success)
    return (0, 0, 0)
""",
    twin="""
from IPython.display import Markdown, display

display(Markdown("**solved**"))

def hello_shape(x):
    return tuple(x.shape)
""",
)

patched_probe = Attack(
    "Replaces the probe that reports what the answer does",
    says="not one observation for each probe",
    answer="""
from ffnlab.observation.exercise import Exercise

Exercise.observe = lambda self, answer, inputs: {"shape": (0, 0, 0), "points": 2.0, "outcome": "earned"}

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
class Exercise:
    def observe(self, x):
        return tuple(x.shape)

def hello_shape(x):
    return Exercise().observe(x)
""",
)

patched_packing = Attack(
    "Replaces the packing of what is sent to the judge",
    says="can't be read|ended|can't be sent",
    answer="""
import ffnlab.observation.plain_data

ffnlab.observation.plain_data.pack = lambda value: b"\\x00" * 64

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
import struct

def hello_shape(x):
    return struct.unpack("=3q", struct.pack("=3q", *x.shape))
""",
)

poisoned_modules = Attack(
    "Puts modules of its own in place of the judge's",
    says="is not right",
    mark="attack: json is autograder.engine.judge_server",
    answer="""
import sys
import types

fake = types.ModuleType("autograder.engine.judge_server")
fake.judge = lambda *args, **kwargs: 2.0
for name in ("autograder.engine.judge_server", "autograder.keys", "ffnlab.checking.verdict", "ffnlab.course.answers", "json", "math"):
    sys.modules[name] = fake

def hello_shape(x):
    import json

    print("attack: json is", json.__name__)
    return (0, 0, 0)
""",
    twin="""
import sys

assert "torch" in sys.modules

def hello_shape(x):
    return tuple(x.shape)
""",
)

FORGED = "raise SystemExit('an attack was imported')\n"

modules_beside_the_notebook = Attack(
    "Lays a torch.py, an ffnlab.py, a sitecustomize.py and an nbgrader_config.py beside its notebook",
    says="is not right",
    mark="attack: torch comes from .*site-packages",
    answer="""
import torch

def hello_shape(x):
    print("attack: torch comes from", torch.__file__)
    return (0, 0, 0)
""",
    files={
        "torch.py": FORGED,
        "ffnlab.py": FORGED,
        "sitecustomize.py": FORGED,
        "nbgrader_config.py": "c = get_config()\nc.ClearSolutions.code_stub = {'python': '2.0'}\n",
        "autograder.py": FORGED,
    },
)

traces_the_grader = Attack(
    "Traces every call and overwrites what it can",
    says="is not right",
    mark=r"attack: overwritten \d",
    answer="""
import sys

overwritten = []

def trace(frame, event, arg):
    for name in ("points", "outcome", "defined", "expected"):
        if name in frame.f_locals:
            frame.f_locals[name] = 2.0
            overwritten.append(name)
    return trace

sys.settrace(trace)
sys.setprofile(trace)

def hello_shape(x):
    print("attack: overwritten", len(overwritten), sorted(set(overwritten)))
    return (0, 0, 0)
""",
    twin="""
import sys

sys.settrace(None)

def hello_shape(x):
    return tuple(x.shape)
""",
)

hooks_while_it_answers = Attack(
    "Hooks itself into whatever runs when nobody looks: tracing, monitoring, collections, finalizers, exits, uncaught exceptions",
    says="can.t be read",
    answer="""
import atexit
import gc
import sys
import threading
import weakref

class Thing:
    pass

def change(*_):
    for level in range(1, 30):
        try:
            names = sys._getframe(level).f_locals
        except ValueError:
            return
        for name in ("answer", "observations", "message", "value", "frame"):
            if isinstance(names.get(name), dict):
                names[name].update(points=2.0, defined=True, outcome="earned")

sys.settrace(lambda *found: change() or None)
threading.setprofile(change)
gc.callbacks.append(change)
gc.set_threshold(1)
sys.unraisablehook = threading.excepthook = sys.excepthook = change
atexit.register(change)
weakref.finalize(Thing(), change)
if hasattr(sys, "monitoring"):
    sys.monitoring.use_tool_id(3, "change")
    sys.monitoring.set_events(3, sys.monitoring.events.CALL)
    sys.monitoring.register_callback(3, sys.monitoring.events.CALL, change)

def hello_shape(x):
    keep = Thing()
    weakref.finalize(keep, change)
    return (0, 0, 0)
""",
    twin="""
import atexit
import gc
import weakref

class Thing:
    pass

collected = []
gc.callbacks.append(lambda phase, found: collected.append(phase))
gc.collect()
atexit.register(print, "the end")

def hello_shape(x):
    weakref.finalize(Thing(), print, "gone")
    return tuple(x.shape)
""",
)
