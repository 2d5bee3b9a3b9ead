"""Derivatives of powers and roots that stay finite where their base is zero."""
