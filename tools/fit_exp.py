#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the coefficients of exp_nonpositive in src/sampling/row_math.cc.

exp(r) on |r| <= ln(2)/2 is taken as 1 + r q(r), so that it is 1 at 0; q has degree 5 and the least
relative error of exp(r), found by iteratively reweighted least squares (needs numpy).
"""
import numpy as np

HALF_LN2 = 0.3467  # and a little: n is rounded from a float product
NUM_POINTS = 4001
DEGREE = 5

r = HALF_LN2 * np.cos(np.pi * (np.arange(NUM_POINTS) + 0.5) / NUM_POINTS)
q = np.expm1(r) / r
to_relative = np.abs(r) / np.exp(r)
powers = np.vander(r, DEGREE + 1, increasing=True)
weight = np.ones(NUM_POINTS)
for _ in range(200):
    scale = to_relative * np.sqrt(weight)
    coefficients = np.linalg.lstsq(powers * scale[:, None], q * scale, rcond=None)[0]
    error = np.abs(powers @ coefficients - q) * to_relative
    weight *= error / error.max() + 1e-3
    weight /= weight.mean()

rounded = coefficients.astype(np.float32)
error = np.abs(powers @ rounded.astype(float) - q) * to_relative
print("coefficients, constant first:", [f"{c:.9g}" for c in rounded])
print(f"largest relative error: {error.max():.2g}")
