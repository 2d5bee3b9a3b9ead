"""This package makes the page of `tapec explore`: a function, its graph and its generated code, through every step."""
