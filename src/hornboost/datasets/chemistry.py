"""Molecules: atoms and the bonds between them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hornboost.datasets.draws import Ints, children, flip, label_column, nominal, position_in_parent, reached
from hornboost.datasets.generated import NOMINAL, NUMERIC, Generated, Plan, check_sizes, key

PLAN = Plan(
    name="molecules",
    title="Molecules that are active or not",
    target="molecule",
    key=("molecule",),
    label="active",
    tables={
        "molecule": {"molecule": key("molecule"), "logp": NUMERIC, "charged": NOMINAL, "active": NOMINAL},
        "atom": {
            "atom": key("atom"),
            "molecule": key("molecule"),
            "element": NOMINAL,
            "hybridisation": NOMINAL,
            "charge": NUMERIC,
        },
        "bond": {
            "molecule": key("molecule"),
            "atom1": key("atom"),
            "atom2": key("atom"),
            "bond_type": NOMINAL,
            "length": NUMERIC,
        },
    },
    primary_keys={"molecule": ("molecule",), "atom": ("atom",)},
    foreign_keys=(
        ("atom.molecule", "molecule.molecule"),
        ("bond.molecule", "molecule.molecule"),
        ("bond.atom1", "atom.atom"),
        ("bond.atom2", "atom.atom"),
    ),
    rules=(
        'active="1" :- molecule(molecule=M), atom(molecule=M, element="n", hybridisation="sp2", charge>=0.1).',
        'active="1" :- molecule(molecule=M), bond(molecule=M, length>=172, length<=174).',
        'active="1" :- molecule(molecule=M), atom(atom=A, molecule=M, element="s"), bond(atom1=A, bond_type="double").',
    ),
)


def molecules(n: int, noise: float = 0.0, seed: int = 0) -> Generated:
    """Generate molecules of 8 to 23 atoms; about half of them are active.

    A bond is stored twice, once from either end, so that `atom1` and `atom2` are interchangeable. Its length is in
    picometres.

    Parameters
    ----------
    n : int
        The number of molecules.
    noise : float
        The share of the labels that are wrong.
    seed : int
        The seed; the same seed gives the same data.

    Returns
    -------
    Generated
        The tables and the planted rules.

    Examples
    --------
    >>> bond = molecules(5).tables["bond"].to_pandas()
    >>> sorted(zip(bond["atom1"], bond["atom2"])) == sorted(zip(bond["atom2"], bond["atom1"]))
    True
    """
    check_sizes("molecules", noise, n=n)
    rng = np.random.default_rng([seed, 2])
    molecule = children(rng, n, 8, 23)
    atoms = len(molecule)
    element = nominal(rng, {"c": 0.5, "o": 0.2, "n": 0.12, "s": 0.08, "cl": 0.06, "f": 0.04}, atoms)
    hybridisation = nominal(rng, {"sp": 0.15, "sp2": 0.35, "sp3": 0.5}, atoms)
    charge = rng.integers(-10, 11, size=atoms) * 5 / 100

    atom1, atom2 = _bonds(rng, molecule)
    bonds = len(atom1)
    bond_type = nominal(rng, {"single": 0.6, "double": 0.1, "triple": 0.05, "aromatic": 0.25}, bonds)
    length = np.where(rng.random(bonds) < 0.05, rng.integers(85, 91, size=bonds), rng.integers(65, 85, size=bonds)) * 2

    three_conditions = element.equals("n") & hybridisation.equals("sp2") & (charge >= 0.1)
    interval = (length >= 172) & (length <= 174)
    double = bond_type.equals("double")
    two_hops = element.equals("s") & (reached(atom1[double], atoms) | reached(atom2[double], atoms))
    truth = reached(molecule[three_conditions | two_hops], n) | reached(molecule[atom1[interval]], n)

    both = np.concatenate([np.arange(bonds), np.arange(bonds)])
    start, end = np.concatenate([atom1, atom2]), np.concatenate([atom2, atom1])
    return Generated(
        PLAN,
        {
            "molecule": pa.table(
                {
                    "molecule": np.arange(1, n + 1),
                    "logp": rng.integers(0, 11, size=n) / 2,
                    "charged": nominal(rng, {"no": 0.8, "yes": 0.2}, n).arrow(),
                    "active": label_column(flip(rng, truth, noise)),
                }
            ),
            "atom": pa.table(
                {
                    "atom": np.arange(1, atoms + 1),
                    "molecule": molecule + 1,
                    "element": element.arrow(),
                    "hybridisation": hybridisation.arrow(),
                    "charge": charge,
                }
            ),
            "bond": pa.table(
                {
                    "molecule": molecule[start] + 1,
                    "atom1": start + 1,
                    "atom2": end + 1,
                    "bond_type": bond_type.arrow().take(both),
                    "length": length[both],
                }
            ),
        },
    )


def _bonds(rng: np.random.Generator, molecule: Ints) -> tuple[Ints, Ints]:
    """A random tree over the atoms of each molecule, and now and then a bond that closes a ring."""
    position = position_in_parent(molecule)
    atom = np.arange(len(molecule))
    first = atom - position + 1
    child = atom[position > 1]
    # near parents keep the tree chain-like, with two bonds at a typical atom
    back = 1 + rng.integers(0, np.minimum(position[child] - 1, 3))
    ring = atom[(position > 5) & (rng.random(len(atom)) < 0.08)]
    ring_end = first[ring] + rng.integers(0, position[ring] - 4)
    return np.concatenate([child, ring]), np.concatenate([child - back, ring_end])
