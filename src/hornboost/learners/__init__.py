"""Weak learners: what finds hypotheses for weighted examples, and the objectives that they maximise."""
