"""Starts threads without end."""

from attacks import Attack

attack = Attack(
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
