"""
The viewer without its display: sessions (a robot with targets and a posture), test cases, recordings and obstacles.

The folder ``browser`` shows a session as a page, the folder ``pictures`` draws still pictures and films.
"""
