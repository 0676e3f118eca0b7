"""Lets a timer strike every millisecond whose handler raises, and has signals written into the channel."""

from attacks import CHANNEL, Attack

attack = Attack(
    says="ended|can.t be read|sent|Looking at it raised|is not right|raised|longer than",
    answer=CHANNEL
    + """
import fcntl
import signal

def strike(*_):
    raise KeyboardInterrupt

def hello_shape(x):
    signal.signal(signal.SIGALRM, strike)
    signal.signal(signal.SIGCHLD, strike)
    fcntl.fcntl(number, fcntl.F_SETFL, os.O_NONBLOCK)
    signal.set_wakeup_fd(number, warn_on_full_buffer=False)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    return (0, 0, 0)
""",
    twin="""
import signal

struck = []
signal.signal(signal.SIGALRM, lambda *_: struck.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)

def hello_shape(x):
    return tuple(x.shape)
""",
)
