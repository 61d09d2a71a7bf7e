"""Linear models beside the network, and the calibration of all parts together."""
