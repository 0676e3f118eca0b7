"""Holds half of a character, which nothing can encode, wherever a text can be"""

from attacks import Attack

attack = Attack(
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
