"""The linear model beside the network, and the calibration of both."""
