"""The project `instances`: hosts.conf, base.conf, training and inference YAMLs, and the documented start scripts."""
