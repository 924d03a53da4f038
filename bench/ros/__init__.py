"""What the measurements over services share: servers, requests, a caller."""
