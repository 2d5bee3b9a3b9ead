"""Lines that take a few numbers out of an array."""

import ast

import numpy as np
import pytest

from tapec.codegen.common.line_templates import few_numbers_of
from tapec.codegen.common.statements import statement_ast
from tapec.ir.types import type_of


@pytest.mark.parametrize("dtype", [float, np.float32, int, bool, complex])
@pytest.mark.parametrize("shape", [(1,), (5,), (9,), (4, 3), (3, 9), (1, 1), (2, 1), (2, 2, 3)])
def test_numbers_have_their_values_and_types(shape, dtype):
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    numbers, written = x.ravel().tolist(), 0
    for first in range(x.size):
        for last in range(first, x.size):
            read = {f"n{k}": numbers[k] for k in {first, (first + last) // 2, last}}
            targets = [f"n{k}" if f"n{k}" in read else "_" for k in range(x.size)]
            line = few_numbers_of(targets, "x", type_of(x), None)
            if line is None:
                assert x.size > 1
                continue
            module = ast.fix_missing_locations(ast.Module([statement_ast(line, 1)], []))
            space = {"x": x}
            exec(compile(module, "<line>", "exec"), space)
            assert all(space[name] == number and type(space[name]) is type(number) for name, number in read.items())
            written += 1
    assert written > 0 or len(shape) > 2
