"""The solver ``ssik_ros/Auto``: it chooses between a closed form and searches for each chain and request."""
