"""Settings of the JupyterLab that `python3 -m s02_tool_use` starts. The command line goes before them."""

import os
import re
import socket
import sys

from s02_tool_use.lab.start.setup import ROOT, has_display

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (Jupyter puts it here)

if "JUPYTERHUB_SERVICE_PREFIX" in os.environ:  # on a hub, where each learner has a home
    # Not a login shell, which on Debian sets another PATH.
    c.ServerApp.terminado_settings = {"shell_command": ["/bin/bash"]}
    # A kernel whose page was closed ends after ten minutes: the memory of the room is that of its kernels.
    c.MappingKernelManager.cull_idle_timeout, c.MappingKernelManager.cull_interval = 600, 60
else:
    c.ServerApp.root_dir = str(ROOT)  # the notebooks link to the modules beside them
c.LabApp.default_url = "/lab/tree/notebooks/00_start_here.ipynb"
c.Application.log_level = 40  # errors only: else the address is lost among 30 lines
c.ServerApp.answer_yes = True  # one Ctrl-C stops it, without a question that times out
c.ServerApp.allow_root = True  # containers
c.ServerApp.open_browser = has_display()
# On a shared machine others could read plain traffic between server and kernel; ipykernel warns of it in the notebook.
c.KernelManager.transport_encryption = "auto"

# Jupyter would take another port and say so where nobody looks. Whoever asks for one (for a tunnel, say) means it.
if asked := re.search(r"--(?:ServerApp\.)?port[= ](\d+)", " ".join(sys.argv)):
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", int(asked[1]))) == 0:
            sys.exit(f"Port {asked[1]} is taken, perhaps by another JupyterLab: end that, or choose another port.")
