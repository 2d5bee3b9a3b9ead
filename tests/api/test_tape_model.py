"""Tapes against a model of them: what is watched, recorded and differentiated, in whatever order it is asked for.

The model has a tape as TensorFlow describes it: a set of what it knows, and a list of operations, each with a function
from the result's gradient to those of its operands. Those functions compute with the model's own operations, so that
other tapes record them. The same random history, of a few tapes that are entered, left, stopped, reset, asked and
entered again, then has to give the same gradients, the same Nones and the same errors.
"""

import math
import operator
import random

import numpy as np
import pytest

import tapec


# -- the model -------------------------------------------------------------------------------------------------------
class Value:
    """A tensor."""

    def __init__(self, number):
        self.number = number


class Holder:
    """A Variable."""

    def __init__(self, number, trainable):
        self.value, self.trainable = Value(number), trainable

    def assign(self, number):
        self.value = Value(number)


class World:
    """The model's operations, and its tapes that record."""

    def __init__(self):
        self.active = []

    def read(self, x):
        if not isinstance(x, Holder):
            return x
        for tape in self.active:
            if (tape.automatic and x.trainable) or x in tape.holders:
                tape.take(x)
        return x.value

    def perform(self, number, inputs, back):
        result = Value(number)
        for tape in self.active:
            if any(x in tape.known for x in inputs):
                tape.known.add(result)
                tape.records.append((result, inputs, back))
        return result

    def add(self, a, b):
        return self.perform(a.number + b.number, [a, b], lambda g: [g, g])

    def multiply(self, a, b):
        return self.perform(a.number * b.number, [a, b], lambda g: [self.multiply(g, b), self.multiply(g, a)])

    def sin(self, a):
        return self.perform(math.sin(a.number), [a], lambda g: [self.multiply(g, self.cos(a))])

    def cos(self, a):
        minus = Value(-1.0)
        return self.perform(math.cos(a.number), [a], lambda g: [self.multiply(self.multiply(g, self.sin(a)), minus)])

    def same(self, a):
        return self.perform(a.number, [a], lambda g: [g])


class ModelTape:
    def __init__(self, world, persistent, automatic):
        self.world, self.persistent, self.automatic = world, persistent, automatic
        self.entered = self.used = False
        self.forget()

    def forget(self):
        self.known, self.records, self.holders, self.used = set(), [], {}, False

    @property
    def recording(self):
        return self in self.world.active

    def enter(self):
        if self.recording:
            raise ValueError
        if self.used:
            self.forget()
        self.entered = True
        self.world.active.append(self)

    def leave(self):
        if self.recording:
            self.world.active.remove(self)

    def stop(self):
        if not self.entered or self.used:
            raise RuntimeError
        if not self.recording:
            raise ValueError
        self.leave()

    def reset(self):
        if not self.recording:
            raise ValueError
        self.forget()

    def watch(self, x):
        if self.used:
            raise RuntimeError
        if isinstance(x, Holder):
            self.take(x)
        else:
            self.known.add(x)

    def take(self, holder):
        self.holders.setdefault(holder, set()).add(holder.value)
        self.known.add(holder.value)

    def gradient(self, targets, sources):
        if self.used or not self.entered:
            raise RuntimeError
        if not self.persistent:
            self.leave()
        found = self.found([t.value if isinstance(t, Holder) else t for t in targets])
        gradients = [self.of(s, found) for s in sources]
        self.used = not self.persistent
        return gradients

    def found(self, targets):
        """The gradients of all that leads to the targets. A target is a source of itself, known or not."""
        gradients = {}

        def give(x, g):
            gradients[x] = self.world.add(gradients[x], g) if x in gradients else g

        for t in targets:
            give(t, Value(1.0))
        for result, inputs, back in reversed(list(self.records)):
            if result in gradients:
                for x, g in zip(inputs, back(gradients[result])):
                    if x in self.known:
                        give(x, g)
        return gradients

    def of(self, source, found):
        if not isinstance(source, Holder):
            return found.get(source)
        total = None
        for g in [found[v] for v in {source.value: 0} | dict.fromkeys(self.holders.get(source, ())) if v in found]:
            total = g if total is None else self.world.add(total, g)
        return total


# -- a history -------------------------------------------------------------------------------------------------------
class History:
    """Random steps, each done to tapec and to the model. `things` are pairs of what stands for one another."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.world = World()
        self.tapes = []
        self.things = []
        self.variables = []
        self.gradients = []  # which are no sources: one call makes them, and is recorded whole
        for _ in range(2):
            self.constant()
        for _ in range(self.random.choice([0, 1, 2])):
            self.variable()
        for _ in range(self.random.choice([1, 2, 3])):
            self.tape()

    def chance(self, p):
        return self.random.random() < p

    def number(self):
        return round(self.random.uniform(-1.5, 1.5), 3)

    def thing(self):
        """Something, what is new more often."""
        k = len(self.things)
        return self.things[-1 - int(abs(self.random.gauss(0, 1)) * k / 3) % k]

    def add(self, ours, model):
        self.things.append((ours, model))

    # -- steps ------------------------------------------------------------------------------------------------------
    def constant(self):
        number = self.number()
        self.add(tapec.constant(number), Value(number))

    def variable(self):
        number, trainable = self.number(), self.chance(0.8)
        pair = tapec.Variable(number, trainable=trainable), Holder(number, trainable)
        self.things.append(pair)
        self.variables.append(pair)

    def tape(self):
        persistent, automatic = self.chance(0.6), self.chance(0.8)
        self.tapes.append((tapec.GradientTape(persistent, automatic), ModelTape(self.world, persistent, automatic)))

    def compute(self):
        (a, model_a), (b, model_b) = self.thing(), self.thing()
        read, world = self.world.read, self.world
        kind = self.random.choice(["add", "multiply", "multiply", "number", "sin", "cos", "same"])
        if kind in ("add", "multiply"):
            result = getattr(operator, {"add": "add", "multiply": "mul"}[kind])(a, b)
            self.add(result, getattr(world, kind)(read(model_a), read(model_b)))
        elif kind == "number":
            number = self.number()
            self.add(a * number, world.multiply(read(model_a), Value(number)))
        else:
            self.add({"sin": np.sin, "cos": np.cos, "same": np.copy}[kind](a), getattr(world, kind)(read(model_a)))

    def assign(self):
        if self.variables:
            (v, holder), number = self.random.choice(self.variables), self.number()
            v.assign(number)
            holder.assign(number)

    def enter(self):
        tape, model = self.random.choice(self.tapes)
        self.both(tape.__enter__, model.enter)

    def leave(self):
        tape, model = self.random.choice(self.tapes)
        tape.__exit__(None, None, None)
        model.leave()

    def watch(self):
        (tape, model), (x, y) = self.random.choice(self.tapes), self.thing()
        self.both(lambda: tape.watch(x), lambda: model.watch(y))

    def reset(self):
        tape, model = self.random.choice(self.tapes)
        self.both(tape.reset, model.reset)

    def stop(self):
        """Some steps while a tape is stopped."""
        tape, model = self.random.choice(self.tapes)
        pause = tape.stop_recording()
        if self.both(pause.__enter__, model.stop) is None:
            return
        for _ in range(self.random.choice([1, 2, 4])):
            self.random.choice([self.compute, self.compute, self.assign, self.watch, self.gradient])()
        if model.recording:
            return
        pause.__exit__(None, None, None)
        model.enter()

    def gradient(self):
        tape, model = self.random.choice(self.tapes)
        targets = [self.thing() for _ in range(self.random.choice([1, 1, 1, 2]))]
        apart = {id(g) for g in self.gradients}
        sources = self.random.sample([x for x in self.things if id(x[0]) not in apart], self.random.choice([1, 2]))
        found = self.both(
            lambda: tape.gradient([t for t, _ in targets], [s for s, _ in sources]),
            lambda: model.gradient([t for _, t in targets], [s for _, s in sources]),
        )
        for g, h in zip(*found or ((), ())):
            assert (g is None) == (h is None)
            if g is not None and abs(h.number) < 1e3:
                assert float(g) == pytest.approx(h.number, rel=1e-9, abs=1e-9)
                self.add(g, h)
                self.gradients.append(g)

    def both(self, ours, model):
        """What both give; None where both raise the same error."""
        expected = None
        try:
            expected = model()
        except (ValueError, RuntimeError) as error:
            with pytest.raises(type(error)):
                ours()
            return None
        return ours(), expected

    STEPS = (("compute", 40), ("enter", 10), ("leave", 6), ("watch", 10), ("gradient", 15), ("stop", 4))
    STEPS += (("assign", 3), ("constant", 2), ("variable", 1), ("reset", 1), ("tape", 2))

    def run(self, steps):
        names, weights = zip(*self.STEPS)
        try:
            for name in self.random.choices(names, weights, k=steps):
                getattr(self, name)()
        finally:
            for tape, _ in self.tapes:
                tape.__exit__(None, None, None)
        for tape, model in self.tapes:
            watched = [v for v, holder in self.variables if holder in model.holders]
            assert [id(v) for v in tape.watched_variables()] == [id(v) for v in watched]


@pytest.mark.parametrize("seed", range(150))
def test_a_history_of_tapes(seed):
    History(seed).run(40)
