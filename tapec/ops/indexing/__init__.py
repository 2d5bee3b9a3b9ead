"""This package defines ops that read and write at indices: getitem, scatter, take, setitem, sorting, sets, segments."""
