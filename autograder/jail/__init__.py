"""Where student code runs. Nothing here imports the rest of autograder: no key, no judge, no gradebook can be reached from it.

sandbox.py and watch.py, with what they call, stand outside, in the process that starts the jail; warm_process.py, isolate.py, seccomp.py, proofs.py and
student_kernel.py run inside bubblewrap; wire.py and limits.py are shared.
"""
