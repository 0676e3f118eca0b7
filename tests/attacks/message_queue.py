"""Opens a message queue of the kernel"""

from attacks import system_call

attack = system_call('libc.mq_open(b"/an_attack", 0o102, 0o600, None)')
