"""This package stands in for the objects and containers that a traced function captures."""
