"""An exercise and what is seen of an answer to it: inputs are drawn, probes call the answer within limits, and plain data comes back."""
