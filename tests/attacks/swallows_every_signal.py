"""Never ends and swallows every exception and signal."""

from attacks import Attack

attack = Attack(
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
