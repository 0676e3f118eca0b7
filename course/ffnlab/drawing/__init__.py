"""Pictures and the controls that move them: SVG, plots, widgets."""
