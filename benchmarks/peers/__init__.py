"""The same twelve faults before this project's checker and before its peers, each in an environment of its own."""
