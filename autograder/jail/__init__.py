"""Where student code runs. Nothing here imports the rest of autograder: no key, no judge, no gradebook can be reached from it.

sandbox.py stands outside (the conductor's side); zygote.py, isolate.py and worker.py run inside bubblewrap; wire.py and limits.py are shared.
"""
