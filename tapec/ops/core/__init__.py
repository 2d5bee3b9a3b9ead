"""This package holds the tools of every definition: stand-ins for arrays, `define`, samples for tests, lazy loading."""
