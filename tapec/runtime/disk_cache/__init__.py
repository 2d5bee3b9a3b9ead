"""The cache of generated code on disk."""
