"""Collections: images with dense positions, their thumbnails, attributes and features."""
