"""The engines that compute the functions of a generated folder."""
