"""Pictures of graphs as SVG and DOT."""
