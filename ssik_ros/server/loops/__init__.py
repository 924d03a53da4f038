"""Requests for goals and loops of a whole robot, by name and without ROS."""
