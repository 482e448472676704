"""Semi-crowdsourced clustering: SCDC and BayesSCDC against what else clusters with pairs."""
