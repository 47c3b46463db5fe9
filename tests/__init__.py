import os

# Threads of OpenMP that wait sleep instead of turning, as the workers of pytest and LightGBM share the cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
