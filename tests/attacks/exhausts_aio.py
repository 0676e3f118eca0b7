"""Sets up asynchronous input and output, of which a machine has a limited number"""

from attacks import system_call

attack = system_call("libc.syscall(206, 128, ctypes.byref(ctypes.c_ulong(0)))")
