"""Tree ensembles of LightGBM, beside our models, and on lists of features that they should keep."""
