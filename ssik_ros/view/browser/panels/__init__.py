"""The panels of a page: groups of controls and drawings that show one session."""
