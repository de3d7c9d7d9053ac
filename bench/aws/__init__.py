"""The comparison on three hosts of AWS, from the operator's machine."""
