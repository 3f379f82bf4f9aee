"""Sets of the data folder that no table of the papers has, with the folds that their schema names."""

from __future__ import annotations

from benchmarks.papers.domains import DOMAINS, Domain

FURTHER = {
    "hepatitis": Domain("hepatitis"),
    "KRK, illegal": Domain("krk"),
    "UW-CSE, adviser": Domain("uwcse", ("advised_by_student_professor",), "leave_one_area_out"),
    "ICML, co-author": Domain("icml", splits="srlearn_split"),
    "Cora, same author": Domain("cora", ("same_author",), "five_fold"),
    "Cora, same title": Domain("cora", ("same_title",), "five_fold"),
    "Cora, same venue": Domain("cora", ("same_venue",), "five_fold"),
    "Cora, same paper": Domain("cora", ("same_bib",), "five_fold"),
    "Trains 2": Domain("trains1000", ("trains2",)),
    "Trains 3": Domain("trains1000", ("trains3",)),
    "Trains 4": Domain("trains1000", ("trains4",)),
    "yeast, protein class": Domain("yeast", ("protein_class_classified",), "four_fold"),
    "CiteSeer, in the title": Domain("citeseer", ("in_title",), "four_fold"),
    "IMDB pairs": Domain("imdb_pairs"),
    "KDD Cup 2004, homology": Domain("kdd04-homology"),
}


def register() -> None:
    """Let them be loaded by name as the papers' sets are."""
    DOMAINS.update(FURTHER)
