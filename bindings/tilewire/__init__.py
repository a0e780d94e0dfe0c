"""tilewire: kernels over tiles that compute and communicate."""
