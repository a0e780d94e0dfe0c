"""The Python frontend: a function's syntax tree becomes a Program through the Builder."""

from tilewire.frontend.build import build_program as build_program
