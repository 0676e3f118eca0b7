"""Attacks by what a cell shows: it claims the score, acts in a browser or a terminal, can't be encoded, unfolds to millions, or never ends."""

from attacks import Attack, Notebook, with_first_cells

displayed_score = Attack(
    "Displays the full score from inside the function",
    says="is not right",
    mark=r"Out\[\d+\]: 2\.0",
    answer="""
def hello_shape(x):
    get_ipython().displayhook(2.0)
    Out[99] = 2.0
    return (0, 0, 0)
""",
    twin="""
def hello_shape(x):
    print(2.0)
    return tuple(x.shape)
""",
)

markup_in_outputs = Attack(
    "Puts HTML and JavaScript into outputs and errors",
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

acts_in_the_browser = Attack(
    "Displays what a browser would act on: scripts, links to them, widgets, formulas with addresses",
    says="everything at once",
    answer="""
from IPython.display import SVG, Javascript, Latex, Markdown, display

display(Javascript("alert(1)"))
display(Markdown("[x](javascript:alert(2)) <img src=x onerror=alert(3)> ![y](https://example.org/z.png)"))
display(Latex(r"$\\href{javascript:alert(4)}{x}$"))
display(SVG("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(5)</script></svg>"))
display({"application/vnd.jupyter.widget-view+json": {"model_id": "6"}}, raw=True)

def hello_shape(x):
    raise ValueError("everything at once <script>alert(7)</script>")
""",
    twin="""
from IPython.display import Latex, Markdown, display

display(Markdown("**so** `x[0]` is [described](https://pytorch.org)"), Latex(r"$x \\in \\mathbb{R}^n$"))

def hello_shape(x):
    return tuple(x.shape)
""",
)

terminal_codes = Attack(
    "Sends control codes to the instructor's terminal",
    says="all students",
    answer="""
def hello_shape(x):
    print("\\x1b[2J\\x1b]0;owned\\x07")
    raise ValueError("\\x1b[2J\\x1b[31mall students: 2 of 2\\x07")
""",
    twin="""
def hello_shape(x):
    print("\\x1b[1mbold\\x1b[0m")
    return tuple(x.shape)
""",
)

lone_surrogates = Attack(
    "Holds half of a character, which nothing can encode, wherever a text can be",
    says="half",
    answer="""
# \ud800
from IPython.display import HTML, display

display(HTML("half \\ud800"))
print("half \\ud800")

def hello_shape(x):
    print("half \\udfff")
    raise ValueError("half \\ud800")
""",
    twin="""
from IPython.display import HTML, display

display(HTML("whole \\U0001f600"))

def hello_shape(x):
    print("whole \\U0001f600")  # 😀
    return tuple(x.shape)
""",
)

html_that_unfolds = Attack(
    "Shows a little HTML that unfolds to millions of elements in whatever reads it",
    says="is not right",
    mark="<p><b title=0>",
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

formulas_that_unfold = Attack(
    "Shows formulas that unfold to millions of characters in a browser, and some that are nested so deeply that its tab ends",
    says="Your code raised ValueError",
    answer=r"""
from IPython.display import HTML, Latex, Markdown, display

double = "".join(rf"\\def\\{chr(98 + n)}{{\\{chr(97 + n)}\\{chr(97 + n)}}}" for n in range(12))
bomb = rf"$\\def\\a{{x}}{double}$ " + r"$\\m$ " * 100
deep = "$" + r"\\frac{1}{" * 400 + "1" + "}" * 400 + "$"
for show in (HTML, Latex, Markdown):
    display(show(bomb), show(deep), show("$" + r"\\tiny " * 400 + "x$"))

def hello_shape(x):
    raise ValueError(bomb[:400])
""".replace("\\\\", "\\"),
    twin=r"""
from IPython.display import Latex, Markdown, display

display(Latex(r"$$\left(\frac{1}{1 + e^{-x}}\right)$$"), Markdown(r"$\sigma(x)$ and $\displaystyle \sum_i x_i$"))

def hello_shape(x):
    return tuple(x.shape)
""",
)


def showing(notebook: Notebook, kind: str, cells: int) -> Notebook:
    source = f"for _ in range(50):\n    display({{{kind!r}: 'a'}}, raw=True)"
    return with_first_cells(notebook, *[source] * cells)


outputs_without_end = Attack(
    "Shows tens of thousands of tiny outputs, in thousands of cells",
    says="is not right",
    mark='"text/html": "a"',
    submission=lambda notebook: showing(notebook, "text/html", 1000),
    twin_submission=lambda notebook: showing(notebook, "text/plain", 20),
    plain=False,
)

output_flood = Attack(
    "Prints without end",
    says="longer|[Mm]emory",
    answer="""
def hello_shape(x):
    while True:
        print("x" * 100_000)
""",
    twin="""
def hello_shape(x):
    print("x" * 3_000_000)
    return tuple(x.shape)
""",
    exhausts=True,
)
