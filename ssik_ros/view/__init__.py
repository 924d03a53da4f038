"""What a viewer shows: sessions, test cases and recordings; pictures and the page have folders of their own."""
