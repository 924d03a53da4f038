"""Sessions, test cases and recordings that a viewer shows; pictures and the page have folders of their own."""
