"""What the pages of the documentation that a report links explain, in two sentences each."""

from __future__ import annotations

#: Title and explanation, by page.
WORDS: dict[str, tuple[str, str]] = {
    "docs/tutorial_diagnose.md": (
        "Scores and the nonlinear share N",
        "R² is the share of the targets' variance that a model explains, the accuracy the share of samples "
        "put in their class. A kernel machine stands for any flexible nonlinear model; like the linear "
        "maps, it is tested on samples that it was not fitted to. N is the part of the model's outputs "
        "that no linear map of the inputs explains: 0 for a linear model.",
    ),
    "docs/theory/expressivity.md": (
        "Linear, odd and even parts",
        "A function is odd if it changes sign with its input, and even if it does not change. Two layers "
        "without biases are a linear map plus an even function, so an odd nonlinear part of the targets is "
        "out of their reach.",
    ),
    "docs/theory/equivalence.md": (
        "Symmetric data keep a network linear",
        "If for every sample (x, y) there is one at (−x, −y), a two-layer ReLU network without biases "
        "learns exactly as a linear network does, and stays linear (Theorem 5). Mirror augmentation and "
        "some ways of centering make data symmetric; biases and further layers escape.",
    ),
    "docs/theory/early_phase.md": (
        "The first phase from small weights",
        "From small initial weights, the neurons of a two-layer network first turn toward one direction.",
    ),
    "docs/theory/optimizers.md": (
        "What batches and optimizers do",
        "Descent, momentum and batches of mirror pairs treat x and −x alike, so that symmetric data keep a "
        "network linear. Batches that separate x from −x break the symmetry in every step, and Adam "
        "rescales each weight.",
    ),
    "docs/theory/deep.md": (
        "Deep networks of low rank",
        "A deep ReLU network whose layers have the low rank that training from small weights tends to is "
        "linear on symmetric data.",
    ),
    "docs/theory/loss_split.md": (
        "The loss in two parts",
        "On inputs that are symmetric, the loss of two bias-free layers is that of a linear network plus "
        "that of an even function.",
    ),
    "docs/theory/README.md": (
        "Results of the theory",
        "Each result states what it assumes of network and data. The table of the theory lists which "
        "assumptions hold here, and by how much the others fail.",
    ),
}
