"""Sets up io_uring."""

from attacks import system_call

attack = system_call("libc.syscall(425, 8, ctypes.create_string_buffer(200))")
