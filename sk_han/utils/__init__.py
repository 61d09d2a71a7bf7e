"""What every room needs: compatibility, optional packages, stored state, softmax."""
