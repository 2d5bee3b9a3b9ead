"""This package defines ops that choose, call graphs, map over rows, or carry a gradient that the user states."""
