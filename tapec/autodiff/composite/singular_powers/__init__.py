"""Keep derivatives of powers and roots finite where their base is zero."""
