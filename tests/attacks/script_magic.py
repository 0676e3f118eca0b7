"""Hands the cell to a shell that prints the score."""

from attacks import Attack

attack = Attack(
    says="ttempted|defined",
    answer="""
%%script bash
echo "hello_shape = 2.0"
echo 2.0
""",
    twin="""
%%time
def hello_shape(x):
    return tuple(x.shape)
""",
)
