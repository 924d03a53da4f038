"""Pictures of robots, made without a window or a browser."""
