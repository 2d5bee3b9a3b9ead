"""This package makes what a person looks at: pictures of graphs, highlighted source, pages, measurements a line.

Comes in: graphs, source text, compiled functions.  Goes out: SVG, HTML, DOT, coloured text.
Must not be imported here: cli, compat.
"""

from tapec.report.graph_picture.picture_file import save_picture
from tapec.report.graph_picture.svg import svg
from tapec.report.highlight import ansi, html

__all__ = ["ansi", "html", "save_picture", "svg"]
