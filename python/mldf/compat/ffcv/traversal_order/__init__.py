"""Under FFCV's path ``ffcv.traversal_order``."""

from .base import TraversalOrder

__all__ = ["TraversalOrder"]
