"""Shows a little HTML that unfolds to millions of elements in whatever reads it."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
from IPython.display import HTML, display

bold = "".join(f"<b title={number:x}>" for number in range(1500))
display(HTML(f"<p>{bold}" + "<p>x" * 1500))
display(HTML("<div>" * 100_000))
display(HTML("<b " + " ".join(f"a{number:x}" for number in range(50_000)) + ">"))
display(HTML("&" * 900_000))
for _ in range(4):
    display(HTML("<i></i>" * 100_000))

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
from IPython.display import HTML, display

row = "<tr>" + "<td align='right'>1 &lt; 2</td>" * 10 + "</tr>"
display(HTML(f"<div><table class='dataframe'><tbody>{row * 60}</tbody></table><p>60 rows<p>10 columns</div>"))

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
