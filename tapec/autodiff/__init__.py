"""Transform graphs into graphs of derivatives: reverse, forward, batch.

Comes in: graphs.  Goes out: graphs of derivatives.  Must not be imported here: passes, codegen, or anything above.
"""

from tapec.autodiff.bodies import lazy as bodies_gate

__all__ = ["load_forward_mode"]


def load_forward_mode() -> None:
    """Import forward mode, which enters its functions in `modes`, for a rule of reverse mode that needs tangents."""
    from tapec.autodiff import forward
