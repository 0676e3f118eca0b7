"""Returns an object that does something when it is unpickled."""

from attacks import Attack

attack = Attack(
    says="Bomb",
    answer="""
class Bomb:
    def __reduce__(self):
        return (print, ("2.0",))

def hello_shape(x):
    return (Bomb(), Bomb(), Bomb())
""",
    twin="""
import pickle

def hello_shape(x):
    return pickle.loads(pickle.dumps(tuple(x.shape)))
""",
)
