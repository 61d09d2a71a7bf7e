"""Files of models that contain data only: saving and loading."""
