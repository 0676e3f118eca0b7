"""JupyterHub for this course: students fetch, validate and submit with nbgrader's exchange; the instructor has the project and formgrader.

docs/jupyterhub.md says what to do before and after; tests/test_hub.py runs this file. Change what stands in capitals, and start the hub as root in
a folder of its own, where it keeps its database and its cookies' secret: `jupyterhub -f jupyterhub_config.py`.
"""

import sys
from pathlib import Path

c = get_config()  # noqa: F821 - traitlets puts get_config here before it runs this file

COURSE = "ffn"  # nbgrader's name for the course: a folder in the exchange, and in each student's home
INSTRUCTORS = {"grace"}
STUDENTS = {"ada", "ben"}
# A clone of this project after `make setup`, for the instructors' eyes alone; config/ is read by everybody's nbgrader, and in exchange/ work changes hands.
PROJECT = Path("/home/grace/feed-forward")
NBGRADER = Path("/srv/nbgrader")

# Who may come in, and as what. nbgrader knows members of a course by groups with these names. A group only grows by this file: whoever leaves is taken out
# in the hub's database.
c.Authenticator.allowed_users = INSTRUCTORS | STUDENTS
c.JupyterHub.load_groups = {
    f"formgrade-{COURSE}": {"users": sorted(INSTRUCTORS)},
    f"nbgrader-{COURSE}": {"users": sorted(STUDENTS)},
}

# With its server's token, nbgrader asks the hub which groups its user is in. The last two are not among a token's rights otherwise.
c.Spawner.server_token_scopes = [
    "users:activity!user",
    "access:servers!server",
    "read:users:name!user",
    "read:users:groups!user",
]

# Variables of the hub's own environment don't reach a user's server, so this has to be said here.
c.Spawner.environment = {"JUPYTER_CONFIG_PATH": str(NBGRADER / "config")}

c.Spawner.cmd = [
    str(Path(sys.executable).with_name("jupyterhub-singleuser"))
]  # of the environment that the hub runs in

# nbgrader's parts of JupyterLab, without those that are of no use here: a list of courses, which fails for whoever is no admin of the hub, and, for students,
# formgrader.
WITHOUT = "--ServerApp.jpserver_extensions=nbgrader.server_extensions.{}=False"
c.Spawner.args = [WITHOUT.format("course_list"), WITHOUT.format("formgrader")]
c.Spawner.group_overrides = {
    "instructors": {
        "groups": [f"formgrade-{COURSE}"],
        "spawner_override": {
            "cmd": [
                str(PROJECT / ".venv" / "bin" / "jupyterhub-singleuser")
            ],  # with the autograder; students' is without
            "notebook_dir": str(PROJECT),
            "args": [WITHOUT.format("course_list")],
            # The first is where the project's own nbgrader_config.py lies.
            "environment": {"JUPYTER_CONFIG_PATH": f"{PROJECT}:{NBGRADER / 'config'}"},
        },
    }
}

# This computer only: what lets in others is a web server in front of it that speaks TLS.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
c.JupyterHub.hub_port = 8081
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:8001"
c.ConfigurableHTTPProxy.command = [str(PROJECT / ".venv/hub/node_modules/.bin/configurable-http-proxy")]  # `make hub`
