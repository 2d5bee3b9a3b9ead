"""Functions take what TensorFlow r2.0's take, in its order, and leave nothing that they take unread.

An option that is taken and left unread gives what was not asked for. Those that have no meaning here, or none in
TensorFlow either, are listed one by one.
"""

import ast
import inspect
import textwrap
from types import FunctionType

import pytest

import tapec.compat.tensorflow as tf
from tapec.compat.tensorflow import keras

R2_0 = """
add_n: inputs name
argmax argmin: input axis output_type name
argsort: values axis direction stable name
boolean_mask: tensor mask axis name
broadcast_to: input shape name
cast: x dtype name
clip_by_global_norm: t_list clip_norm use_norm name
clip_by_norm: t clip_norm axes name
clip_by_value: t clip_value_min clip_value_max name
complex: real imag name
concat: values axis name
cond: pred true_fn false_fn name
constant: value dtype shape name
convert_to_tensor: value dtype dtype_hint name
cumsum math.cumprod: x axis exclusive reverse name
custom_gradient: f
einsum: equation *inputs name
enable_eager_execution executing_eagerly:
expand_dims: input axis name
eye: num_rows num_columns batch_shape dtype name
fill: dims value name
function: func input_signature autograph experimental_autograph_options experimental_relax_shapes experimental_compile
gather: params indices validate_indices axis batch_dims name
gather_nd: params indices batch_dims name
identity stop_gradient rank: input name
is_tensor: x
linspace: start stop num name
map_fn: fn elems dtype parallel_iterations back_prop swap_memory infer_shape name
matmul: a b transpose_a transpose_b adjoint_a adjoint_b a_is_sparse b_is_sparse name
meshgrid: *args indexing name
norm: tensor ord axis keepdims name
one_hot: indices depth on_value off_value axis dtype name
ones zeros: shape dtype name
ones_like zeros_like: input dtype name
pad: tensor paddings mode constant_values name
range: start limit delta dtype name
reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min: input_tensor axis keepdims name
reduce_prod reduce_sum math.reduce_std math.reduce_variance: input_tensor axis keepdims name
repeat: input repeats axis name
reshape: tensor shape name
reverse: tensor axis name
roll: input shift axis name
shape size: input out_type name
slice: input_ begin size name
sort: values axis direction name
split: value num_or_size_splits axis num name
squeeze: input axis name
stack: values axis name
tensordot: a b axes name
tile: input multiples name
transpose: a perm conjugate name
unstack: value num axis name
where: condition x y name
while_loop: cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory maximum_iterations name
abs acos acosh asin asinh atan atanh cos cosh exp floor logical_not negative round sigmoid sign: x name
sin sinh sqrt square tan tanh math.ceil math.conj math.digamma math.erf math.erfc math.erfinv math.expm1: x name
math.is_finite math.is_inf math.is_nan math.lgamma math.log math.log1p math.reciprocal math.rint math.rsqrt: x name
math.angle math.imag math.real: input name
add divide equal greater greater_equal less less_equal logical_and logical_or maximum minimum multiply: x y name
not_equal pow subtract truediv math.divide_no_nan math.floordiv math.floormod math.logical_xor math.mod: x y name
math.multiply_no_nan math.squared_difference: x y name
atan2: y x name
linalg.adjoint linalg.logdet: matrix name
linalg.band_part: input num_lower num_upper name
linalg.cholesky linalg.det linalg.slogdet: input name
linalg.cross: a b name
linalg.diag: diagonal name k num_rows num_cols padding_value
linalg.diag_part: input name k padding_value
linalg.eigh linalg.eigvalsh: tensor name
linalg.global_norm: t_list name
linalg.inv: input adjoint name
linalg.l2_normalize: x axis epsilon name
linalg.matrix_transpose: a name conjugate
linalg.matvec: a b transpose_a adjoint_a a_is_sparse b_is_sparse name
linalg.qr: input full_matrices name
linalg.solve: matrix rhs adjoint name
linalg.svd: tensor full_matrices compute_uv name
linalg.trace: x name
nn.bias_add: value bias data_format name
nn.dropout: x rate noise_shape seed name
nn.elu nn.gelu nn.relu nn.relu6 nn.selu nn.silu nn.softplus nn.softsign nn.swish: features
nn.embedding_lookup: params ids max_norm name
nn.l2_loss: t name
nn.leaky_relu: features alpha name
nn.softmax nn.log_softmax: logits axis name
nn.moments: x axes shift keepdims name
nn.sigmoid_cross_entropy_with_logits nn.sparse_softmax_cross_entropy_with_logits: labels logits name
nn.softmax_cross_entropy_with_logits: labels logits axis name
nn.top_k: input k sorted name
random.normal random.truncated_normal: shape mean stddev dtype seed name
random.set_seed: seed
random.shuffle: value seed name
random.uniform: shape minval maxval dtype seed name
keras.activations.elu: x alpha
keras.activations.linear keras.activations.selu keras.activations.sigmoid keras.activations.softplus: x
keras.activations.softsign keras.activations.tanh: x
keras.activations.relu: x alpha max_value threshold
keras.activations.softmax: x axis
keras.losses.MSE keras.losses.mse keras.losses.mean_squared_error: y_true y_pred
"""
SIGNATURES = {
    name: parameters.split()
    for names, parameters in (line.split(":") for line in R2_0.strip().splitlines())
    for name in names.split()
}
CLASSES = {
    "Variable": "initial_value trainable validate_shape caching_device name variable_def dtype import_scope constraint "
    "synchronization aggregation shape",
    "IndexedSlices": "values indices dense_shape",
    "GradientTape": "persistent watch_accessed_variables",
    "optimizers.SGD": "learning_rate momentum nesterov name clipnorm clipvalue decay lr",
    "optimizers.Adam": "learning_rate beta_1 beta_2 epsilon amsgrad name clipnorm clipvalue decay lr",
    "keras.layers.Dense": "units activation use_bias kernel_initializer bias_initializer kernel_regularizer "
    "bias_regularizer activity_regularizer kernel_constraint bias_constraint trainable name dtype dynamic input_shape "
    "input_dim batch_input_shape batch_size weights",
}
METHODS = {
    "Variable": {
        "assign": "value use_locking name read_value",
        "assign_add": "delta use_locking name read_value",
        "assign_sub": "delta use_locking name read_value",
    },
    "GradientTape": {
        "gradient": "target sources output_gradients unconnected_gradients",
        "jacobian": "target sources unconnected_gradients parallel_iterations experimental_use_pfor",
        "batch_jacobian": "target source unconnected_gradients parallel_iterations experimental_use_pfor",
        "watch": "tensor",
    },
    "optimizers.SGD": {"apply_gradients": "grads_and_vars name"},
}
# what has no meaning in eager execution on one device, nor would in TensorFlow, or is true in any case here
WITHOUT_MEANING = {
    "Variable.__init__": "validate_shape caching_device import_scope synchronization aggregation",
    "Variable.assign": "use_locking",
    "Variable.assign_add": "use_locking",
    "Variable.assign_sub": "use_locking",
    "argsort": "stable",
    "function": "autograph experimental_autograph_options experimental_relax_shapes experimental_compile",
    "gather": "validate_indices",
    "keras.layers.Dense.__init__": "dynamic input_shape input_dim batch_input_shape batch_size",
    "linalg.matvec": "a_is_sparse b_is_sparse",
    "map_fn": "parallel_iterations back_prop swap_memory infer_shape",
    "matmul": "a_is_sparse b_is_sparse",
    "nn.moments": "shift",
    "nn.top_k": "sorted",
    "while_loop": "shape_invariants parallel_iterations back_prop swap_memory",
}


def named(path):
    found = tf
    for part in path.split("."):
        found = getattr(found, part)
    return found


def public_functions():
    """Every function of the face, under its first name."""
    rooms = {"": tf, "math.": tf.math, "linalg.": tf.linalg, "nn.": tf.nn, "random.": tf.random}
    rooms |= {f"keras.{name}.": getattr(keras, name) for name in ("activations", "losses", "layers", "optimizers")}
    for prefix, room in rooms.items():
        for name in getattr(room, "__all__", None) or vars(room):
            if not name.startswith("_") and isinstance(getattr(room, name), FunctionType):
                yield prefix + name, getattr(room, name)


def parameters_of(function, skipped=0):
    """The names of parameters, a star before those for the rest."""
    parameters = list(inspect.signature(function).parameters.values())[skipped:]
    assert all(p.kind is not p.VAR_KEYWORD for p in parameters)
    return [f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name for p in parameters]


def unread(function):
    """The parameters that the text of a function never reads."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    read = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return {p.lstrip("*") for p in parameters_of(function)} - read - {"self", "name"}


def test_every_public_function_is_compared():
    known = {named(path) for path in SIGNATURES}
    assert [path for path, function in public_functions() if function not in known] == []


@pytest.mark.parametrize("path", SIGNATURES)
def test_functions_take_what_tensorflows_take(path):
    ours = parameters_of(named(path))
    assert ours[: len(SIGNATURES[path])] == SIGNATURES[path]
    assert unread(named(path)) == set(WITHOUT_MEANING.get(path, "").split())


@pytest.mark.parametrize("path", CLASSES)
def test_classes_take_what_tensorflows_take(path):
    assert parameters_of(named(path)) == CLASSES[path].split()
    assert unread(named(path).__init__) == set(WITHOUT_MEANING.get(f"{path}.__init__", "").split())


@pytest.mark.parametrize(("path", "method"), [(path, method) for path in METHODS for method in METHODS[path]])
def test_methods_take_what_tensorflows_take(path, method):
    function = getattr(named(path), method)
    assert parameters_of(function, 1) == METHODS[path][method].split()
    assert unread(function) == set(WITHOUT_MEANING.get(f"{path}.{method}", "").split())


@pytest.mark.parametrize("module", ["arrays", "control_flow", "elementwise", "keras", "linalg", "nn", "random"])
def test_no_function_takes_any_keyword(module):
    tree = ast.parse(inspect.getsource(__import__(f"tapec.compat.tensorflow.{module}", fromlist=["_"])))
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, ast.arguments) and node.kwarg is not None] == []


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.keras.layers.Dense(2, kernel_regularizer=tf.nn.l2_loss), "Dense takes no kernel_regularizer here"),
        (lambda: tf.keras.layers.Dense(2, bias_regularizer=tf.nn.l2_loss), "add what it gives of layer.kernel"),
        (lambda: tf.function(lambda x: x, input_signature=[None]), "tf.function takes no input_signature here"),
        (lambda: tf.Variable(1.0, variable_def="v"), "Variable takes no variable_def here"),
    ],
)
def test_what_is_not_done_is_refused(call, text):
    with pytest.raises(TypeError, match=f"^test_signatures.py:.*{text}"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.meshgrid([1], [2], sparse=True),
        lambda: tf.linalg.diag_part(tf.eye(2), offset=1),
        lambda: tf.optimizers.SGD(rate=0.1),
        lambda: tf.keras.layers.Dense(2, kernel="zeros"),
        lambda: tf.Variable(1.0, trainabel=False),
        lambda: tf.while_loop(bool, bool, [0], maximum=3),
    ],
)
def test_keywords_that_tensorflow_has_not_are_refused(call):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        call()
