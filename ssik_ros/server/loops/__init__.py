"""Goals and loops of a whole robot as questions by name, without ROS."""
