"""What every family of ops is defined with: stand-ins for arrays, `define`, samples for tests, lazy loading."""
