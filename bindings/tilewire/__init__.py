"""tilewire: kernels over tiles that compute and communicate."""

from tilewire._tilewire import __version__ as __version__
