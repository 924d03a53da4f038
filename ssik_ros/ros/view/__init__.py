"""Connection of the page in the browser to a running robot."""
