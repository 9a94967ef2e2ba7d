"""From a bare clone to JupyterLab: the environment, the doctor, the settings of Jupyter. Standard library only."""
