"""The parts of the lab that move: the only place that imports ipywidgets."""
