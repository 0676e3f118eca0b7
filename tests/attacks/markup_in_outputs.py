"""Puts HTML and JavaScript into outputs and errors."""

from attacks import Attack

attack = Attack(
    says="alert",
    answer="""
from IPython.display import HTML, display

display(HTML("<script>alert(1)</script><img src=x onerror=alert(2)>"))
print("<script>alert(3)</script>")

def hello_shape(x):
    raise ValueError("<script>alert(4)</script>")
""",
    twin="""
from IPython.display import HTML, display

display(HTML("<b>solved</b>"))

def hello_shape(x):
    return tuple(x.shape)
""",
)
