"""hosts.conf and base.conf -> what each node does; the jobs of direct mode; launching, supervising, retrying."""
