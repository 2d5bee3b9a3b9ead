"""This package computes large arrays in loops over blocks of rows that fit the cache."""
