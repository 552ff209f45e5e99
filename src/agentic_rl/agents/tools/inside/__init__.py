"""The process that runs the policy's code, from its start to the code itself.

It is started without `agentic_rl`, as a package of its own: it stays small, so that a fork of it is cheap, and it
holds nothing that the code could find. Therefore it imports the standard library alone, and its own modules by
relative names.
"""
