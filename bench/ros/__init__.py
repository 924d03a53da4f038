"""Servers, requests and a caller for the measurements over services."""
