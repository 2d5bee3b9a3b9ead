"""Fresh functions: those made anew for each call, which share what was compiled for earlier ones of the same code."""
