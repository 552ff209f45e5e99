"""The quickstart: a tiny model learns to use a calculator, on one CPU core, in a minute."""
