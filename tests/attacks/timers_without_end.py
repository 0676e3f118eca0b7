"""Makes timers by the thousand, and lets threads wait on many addresses at once."""

from attacks import Attack

attack = Attack(
    says="longer than",
    answer="""
import ctypes
import struct
import threading

libc = ctypes.CDLL(None)
room = ctypes.create_string_buffer(64)
made = 0
while made < 100_000 and libc.timer_create(1, struct.pack("@Qii48x", 0, 0, 1), room) == 0:  # SIGEV_NONE
    made += 1
assert made < 2_000

def storm():
    words = (ctypes.c_uint32 * 128)()
    at = ctypes.addressof(words)
    waiters = b"".join(struct.pack("=QQII", 1, at + 4 * index, 2, 0) for index in range(128))
    while True:
        libc.syscall(449, waiters, 128, 0, 0, 0)  # futex_waitv: returns at once, as no word has the value it waits for

def hello_shape(x):
    for _ in range(8):
        threading.Thread(target=storm).start()
    storm()
""",
    twin="""
import signal

seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.001)

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
