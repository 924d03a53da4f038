"""
Viewers of a robot: sessions (a robot with targets and a posture), and texts, tables and files about them.

The folder ``sessions`` has the sessions, ``browser`` shows a session as a page, and ``pictures`` draws pictures and
films. The modules of this folder need no display.
"""
