"""Pages of the site that are made from the package and from the project's other texts."""
