"""The panel of rqt: branches of a pose and causes of failures, from a running node."""
