"""The largest lead of any candidate over each of some candidates, in many draws; compiled.

Compared with a slow version in tests/evaluation/test_loss_bounds.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from sparserank._kernel_cache import kernel

GROUP = 32  # neighbouring candidates that are examined or skipped together


@kernel
def largest_leads(z, top, inverse, room, rows, out):
    """out[a, d] = max(0, max over i of (z[d, i] - z[d, j]) inverse[j, i]) for j = rows[a]; skips groups of
    candidates in which no z exceeds z[d, j] by more than room[j, group].

    Parameters
        z         (n_draws, m) float32
        top       (n_draws, n_groups) largest z of each group of GROUP candidates
        inverse   (m, m) 1 / error; 0 if the error is 0
        room      (m, n_groups) >= 0
    """
    m = z.shape[1]
    for d in range(len(z)):
        for a in range(len(rows)):
            j = rows[a]
            z_j = z[d, j]
            best = z_j - z_j
            for g in range(top.shape[1]):
                if top[d, g] - z_j > room[j, g]:
                    for i in range(g * GROUP, min(m, (g + 1) * GROUP)):
                        lead = (z[d, i] - z_j) * inverse[j, i]
                        if lead > best:
                            best = lead
            out[a, d] = best
