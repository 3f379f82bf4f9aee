"""Popper: programs that separate the classes without an error. Its package is looked for, so that the page can tell."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["popper-ilp"]
# [tool.peer]
# package = "popper-ilp"
# tables = "many"
# needs = ["swipl"]
# cannot = "is not on the package index"
# note = "`popper` on the index is another project, and the repository on GitHub was out of reach"
# [tool.peer.learners]
# popper = "Popper"
# ///
