"""HornBoost learns small, readable ensembles of first-order rules straight from many tables."""
