"""Jobs with tree ensembles of LightGBM: comparison with our models, and selection of features for the trees."""
