"""Whether what is said of settled neighbours holds: intervals, and campaigns that end themselves."""
