"""JupyterHub for this course: students fetch, validate and submit with nbgrader's exchange; the instructors have the project and formgrader.

docs/jupyterhub.md says what to do before and after; tests/test_hub.py runs this file. Change the names in capitals, and the ports at the end where others
have them. The hub runs as root in a folder of its own, where it keeps its database and the secret of its cookies.
"""

import pwd
import sys
from pathlib import Path

c = get_config()  # noqa: F821 - traitlets puts get_config here before it runs this file

COURSE = "ffn"  # nbgrader's name for the course: a folder in the exchange, and in each student's home
ACCOUNT = (
    "ffn"  # the system account that owns the project and the course's folder in the exchange; nobody logs in as it
)
INSTRUCTORS = {"grace", "tom"}  # each logs in with an account of their own, and works in the server of ACCOUNT
STUDENTS = {"ada", "ben"}
PROJECT = Path("/home/ffn/feed-forward")  # a clone of this project after `make setup`, which only ACCOUNT can enter

# A group only grows by this file: delete whoever leaves in the hub's admin page, or with `jupyterhub` stopped in its database.
c.Authenticator.allowed_users = INSTRUCTORS | STUDENTS
c.Authenticator.allow_existing_users = False
c.JupyterHub.load_groups = {
    f"formgrade-{COURSE}": {"users": [ACCOUNT]},  # nbgrader knows a course's people by groups with these two names
    f"nbgrader-{COURSE}": {"users": sorted(STUDENTS)},
    "instructors": {"users": sorted(INSTRUCTORS)},
}
c.JupyterHub.load_roles = [
    {
        "name": "instructors",
        "groups": ["instructors"],
        "scopes": [f"servers!user={ACCOUNT}", f"access:servers!user={ACCOUNT}", f"read:users:name!user={ACCOUNT}"],
    }
]

# With its server's token, nbgrader asks the hub which groups its user is in. The last two are not among a token's rights otherwise.
c.Spawner.server_token_scopes = [
    "users:activity!user",
    "access:servers!server",
    "read:users:name!user",
    "read:users:groups!user",
]


def close_home(spawner):
    """In a home that others can enter, they could read answers, and the secrets by which feedback pages are found."""
    home = Path(pwd.getpwnam(spawner.user.name).pw_dir)
    if home.stat().st_mode & 0o077:
        home.chmod(0o700)


c.Spawner.pre_spawn_hook = close_home

# Where a whole class starts at once, a server may need more than the usual 30 seconds until it answers; then the hub would end it.
c.Spawner.http_timeout = 120

# Servers and proxy are of the environment that the hub runs in, which is root's. Only the server of ACCOUNT is of the project's.
BIN = Path(sys.executable).parent
c.Spawner.cmd = [str(BIN / "jupyterhub-singleuser")]
c.ConfigurableHTTPProxy.command = [str(BIN.parent / "node_modules" / ".bin" / "configurable-http-proxy")]

# nbgrader's parts of JupyterLab, without those that are of no use here: a list of courses, which fails for whoever is no admin of the hub, and, for students,
# formgrader.
WITHOUT = "--ServerApp.jpserver_extensions=nbgrader.server_extensions.{}=False"
c.Spawner.args = [WITHOUT.format("course_list"), WITHOUT.format("formgrader")]
c.Spawner.group_overrides = {
    "instructors": {
        "groups": [f"formgrade-{COURSE}"],
        "spawner_override": {
            "cmd": [str(PROJECT / ".venv" / "bin" / "jupyterhub-singleuser")],  # with the autograder
            "notebook_dir": str(PROJECT),
            "args": [WITHOUT.format("course_list")],
            "environment": {"JUPYTER_CONFIG_PATH": str(PROJECT)},  # where the project's nbgrader_config.py is
        },
    }
}

# This computer only: what lets in others is a web server in front of it that speaks TLS.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
c.JupyterHub.hub_port = 8081
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:8001"
