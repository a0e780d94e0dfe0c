"""The programs behind `tilewire.ops`, in the tile language. Each is made for a form of epilogue."""
