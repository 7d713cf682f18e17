"""What only the notebooks need: listings, tables, pictures, sliders, and the
experiments that were run before."""
