"""Search for clauses: objectives over weighted coverage, and greedy refinement."""
