"""Requests to robots with closed kinematic loops, by name and without ROS: reach poses, or complete joint positions."""
