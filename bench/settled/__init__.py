"""What is said of settled neighbours: do intervals hold, and are campaigns ended rightly?"""
