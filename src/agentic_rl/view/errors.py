"""What can stop a look at a run."""

from __future__ import annotations


class ViewError(Exception):
    """Something that the user can set right; the message says how."""
