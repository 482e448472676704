"""Compares SCDC and BayesSCDC with other methods that cluster with pairs."""
