"""Infinite data: the closed form without sampling error, how samples differ from it, and ReLU teachers."""
