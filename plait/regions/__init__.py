"""Ops whose parameters are Programs: calls, branches, loops, maps, functions with own rules."""
