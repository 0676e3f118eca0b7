"""What takes longer than a notebook may: each module runs one experiment and writes its result, small, beside itself."""
