"""These passes keep inf and nan of untaken branches out of cotangents."""
