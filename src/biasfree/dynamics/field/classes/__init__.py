"""Activation classes: samples with one activation pattern, evaluated through their moments.

The result is that of a pass over all samples, up to rounding; a certificate is checked at every evaluation.
"""
