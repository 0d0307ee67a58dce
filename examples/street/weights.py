"""Reads the weights of two published networks and rebuilds the networks as ONNX, without TensorFlow or PyTorch.

You do not need this file for networks of your own: models.py is the place to plug them in.
"""

import collections
import pickle

import numpy as np
import onnx
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from onnx import TensorProto, helper, numpy_helper


# ---------------------------------------------------------------------------------------------- a TensorFlow frozen graph

def graph_def_class():
    """The part of TensorFlow's GraphDef that is read here, declared as protobuf messages (names and numbers are TensorFlow's)."""
    kinds = {
        "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
        "bytes": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
        "int64": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
        "int32": descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
        "float": descriptor_pb2.FieldDescriptorProto.TYPE_FLOAT,
    }
    messages = {
        "Dim": [("size", 1, "int64", False)],
        "Shape": [("dim", 2, "Dim", True)],
        "Tensor": [("dtype", 1, "int32", False), ("shape", 2, "Shape", False), ("content", 4, "bytes", False), ("floats", 5, "float", True)],
        "List": [("i", 3, "int64", True)],
        "Value": [("list", 1, "List", False), ("f", 4, "float", False), ("tensor", 8, "Tensor", False)],
        "Attribute": [("key", 1, "string", False), ("value", 2, "Value", False)],
        "Node": [("name", 1, "string", False), ("op", 2, "string", False), ("input", 3, "string", True), ("attribute", 5, "Attribute", True)],
        "Graph": [("node", 1, "Node", True)],
    }
    file = descriptor_pb2.FileDescriptorProto(name="graph.proto", package="street", syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED if repeated else descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, label=label)
            if kind in kinds:
                added.type = kinds[kind]
            else:
                added.type, added.type_name = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE, ".street." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("street.Graph"))


class FrozenGraph:
    """A frozen TensorFlow graph: nodes by name, their inputs and attributes."""

    def __init__(self, path):
        graph = graph_def_class()()
        with open(path, "rb") as file:
            graph.ParseFromString(file.read())
        self.nodes = {node.name: node for node in graph.node}

    def node(self, name):
        return self.nodes[name.split(":")[0]]

    def attribute(self, node, key):
        return next(a.value for a in node.attribute if a.key == key)

    def constant(self, name):
        """The float32 array of a constant, looked up through Identity nodes."""
        node = self.node(name)
        while node.op == "Identity":
            node = self.node(node.input[0])
        tensor = self.attribute(node, "value").tensor
        shape = [dim.size for dim in tensor.shape.dim]
        values = np.frombuffer(tensor.content, np.float32) if tensor.content else np.array(tensor.floats, np.float32)
        if values.size == 1:
            values = np.full(int(np.prod(shape)), values[0], np.float32)
        return values.reshape(shape)


# ------------------------------------------------------------------------------------------------- a PyTorch weights file

def read_torch(path):
    """The tensors of a file that PyTorch before 1.6 saved: a few pickles, then the bytes of each storage."""

    def rebuild(storage, offset, size, stride, *_):
        return storage, offset, size

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):  # nothing else is ever run from the file
            if name == "_rebuild_tensor_v2":
                return rebuild
            if name == "OrderedDict":
                return collections.OrderedDict
            if module == "torch":
                return name
            raise pickle.UnpicklingError(f"{path} asks for {module}.{name}")

        def persistent_load(self, identity):
            return identity  # ("storage", type, key, location, count, view)

    kinds = {"FloatStorage": np.float32, "LongStorage": np.int64, "HalfStorage": np.float16}
    with open(path, "rb") as file:
        for _ in range(3):  # magic number, protocol version, system
            Reader(file).load()
        tensors, keys = Reader(file).load(), Reader(file).load()
        kind = {storage[2]: np.dtype(kinds[storage[1]]) for storage, _, _ in tensors.values()}
        data = {}
        for key in keys:
            count = int.from_bytes(file.read(8), "little")
            data[key] = np.frombuffer(file.read(count * kind[key].itemsize), kind[key])
    return {
        name: data[storage[2]][offset:offset + int(np.prod(size))].reshape(size)
        for name, (storage, offset, size) in tensors.items()
    }


# --------------------------------------------------------------------------------------------------------- ONNX, rebuilt

class Builder:
    """Collects ONNX nodes one after the other; each method returns the name of what its node computes."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        return name

    def node(self, op, inputs, output=None, **attributes):
        output = output or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def convolution(self, x, weight, bias, stride, groups, padding):
        return self.node("Conv", [x, self.constant(weight), self.constant(bias)], strides=[stride] * 2, group=groups, **padding)

    def relu6(self, x):
        return self.node("Clip", [x, self.constant(np.float32(0)), self.constant(np.float32(6))])

    def model(self, outputs):
        graph = helper.make_graph(
            self.nodes, "street",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        return model.SerializeToString()


def folded(weight, scale, shift, mean, variance, epsilon):
    """A convolution's weights and bias with the batch normalisation behind it folded in."""
    factor = scale / np.sqrt(variance + epsilon)
    return weight * factor.reshape(-1, 1, 1, 1), shift - mean * factor


def mobilenet(path):
    """MobileNetV2 up to its pooled features: x (n x 3 x h x w) -> features (n x 1280)."""
    tensors, build = read_torch(path), Builder()

    def layer(x, convolution, normalisation, stride=1, relu=True):
        weight = tensors[convolution + ".weight"]
        groups = weight.shape[0] if weight.shape[1] == 1 else 1
        statistics = [tensors[f"{normalisation}.{name}"] for name in ("weight", "bias", "running_mean", "running_var")]
        weight, bias = folded(weight, *statistics, 1e-5)
        y = build.convolution(x, weight, bias, stride, groups, {"pads": [weight.shape[2] // 2] * 4})
        return build.relu6(y) if relu else y

    x, block = layer("x", "features.0.0", "features.0.1", 2), 1
    for expansion, repeats, first_stride in [(1, 1, 1), (6, 2, 2), (6, 3, 2), (6, 4, 2), (6, 3, 1), (6, 3, 2), (6, 1, 1)]:
        for repeat in range(repeats):
            name, y, first = f"features.{block}.conv.", x, 0
            if expansion > 1:
                y, first = layer(y, name + "0", name + "1"), 3
            y = layer(y, f"{name}{first}", f"{name}{first + 1}", first_stride if repeat == 0 else 1)
            y = layer(y, f"{name}{first + 3}", f"{name}{first + 4}", relu=False)
            x = build.node("Add", [x, y]) if repeat else y
            block += 1
    x = build.node("GlobalAveragePool", [layer(x, "features.18.0", "features.18.1")])
    build.node("Flatten", [x], "features", axis=1)
    return build.model(["features"])


def ssdlite(path):
    """The people detector up to its six pairs of maps, box codes and class scores, coarse maps last."""
    graph, build, made = FrozenGraph(path), Builder(), {}

    def convolution(name, fold=None):
        node = graph.node(name)
        depthwise = node.op == "DepthwiseConv2dNative"
        weight = graph.constant(node.input[1]).transpose((2, 3, 0, 1) if depthwise else (3, 2, 0, 1))
        bias = None
        if fold is not None:
            statistics = [graph.constant(i) for i in fold.input[1:5]]
            weight, bias = folded(weight, *statistics, graph.attribute(fold, "epsilon").f)
        stride = graph.attribute(node, "strides").list.i[1]
        groups = weight.shape[0] if depthwise else 1
        return lambda b: build.convolution(output(node.input[0]), weight, b if bias is None else bias, stride, groups, {"auto_pad": "SAME_UPPER"})

    def output(name):
        name = name.split(":")[0]
        if name == "Preprocessor/sub":  # where TensorFlow's own scaling of the picture ends
            return "x"
        if name not in made:
            node = graph.node(name)
            if node.op == "Identity":
                made[name] = output(node.input[0])
            elif node.op == "Relu6":
                made[name] = build.relu6(output(node.input[0]))
            elif node.op == "Add":
                made[name] = build.node("Add", [output(node.input[0]), output(node.input[1])])
            elif node.op == "FusedBatchNorm":
                made[name] = convolution(node.input[0], node)(None)
            elif node.op == "BiasAdd":
                made[name] = convolution(node.input[0])(graph.constant(node.input[1]))
            else:
                raise ValueError(f"{path}: {name} is a {node.op}, which is not read here")
        return made[name]

    names = []
    for level in range(6):
        for kind in ("BoxEncodingPredictor", "ClassPredictor"):
            names.append(f"{kind}{level}")
            build.node("Identity", [output(f"BoxPredictor_{level}/{kind}/BiasAdd")], names[-1])
    return build.model(names)
