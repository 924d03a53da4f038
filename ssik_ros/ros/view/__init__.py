"""What joins the page in the browser and a running robot."""
