"""Makes the table of word meanings: `python3 make.py MODEL_FOLDER SENTENCES.json OUTPUT.json`. See README.md."""

import base64
import json
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import scipy.sparse as sparse
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LAYERS, HEADS, WIDTH = 6, 12, 384
WORDS, DIMENSIONS, COMMON_DIRECTIONS = 20_000, 128, 2
KEPT = 16_000
RIDGE, RARE = 0.02, 2e-3


def export(weights, path):
    """Writes the model as an ONNX graph: token IDs and a mask to the sum of the last layer over the tokens."""
    nodes, constants = [], {}

    def constant(name, value):
        constants.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def op(kind, inputs, **attributes):
        name = f"{kind}{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def linear(x, name):
        product = op("MatMul", [x, constant(name + ".w", weights[name + ".weight"].T)])
        return op("Add", [product, constant(name + ".b", weights[name + ".bias"])])

    def normalized(x, name):
        scale, bias = (constant(f"{name}.{part}", weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return op("LayerNormalization", [x, scale, bias], axis=-1, epsilon=1e-12)

    def integers(*values):
        return constant("i" + "_".join(map(str, values)), np.array(values, dtype=np.int64))

    def number(value):
        return constant(f"f{value}", np.float32(value))

    length = op("Gather", [op("Shape", ["ids"]), integers(1)])
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    position = op("Slice", [constant("positions", positions), integers(0), length, integers(0)])
    tokens = op("Gather", [constant("tokens", weights["embeddings.word_embeddings.weight"]), "ids"])
    x = normalized(op("Add", [tokens, position]), "embeddings.LayerNorm")
    hidden = op("Sub", [number(1), op("Unsqueeze", ["mask", integers(1, 2)])])
    bias = op("Mul", [hidden, number(-1e4)])
    split, joined = integers(0, 0, HEADS, WIDTH // HEADS), integers(0, 0, WIDTH)
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        query, key, value = (
            op("Transpose", [op("Reshape", [linear(x, f"{name}attention.self.{part}"), split])], perm=order)
            for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
        )
        scores = op("Mul", [op("MatMul", [query, key]), number(1 / np.sqrt(WIDTH / HEADS))])
        shares = op("Softmax", [op("Add", [scores, bias])], axis=-1)
        seen = op("Reshape", [op("Transpose", [op("MatMul", [shares, value])], perm=[0, 2, 1, 3]), joined])
        x = normalized(op("Add", [linear(seen, name + "attention.output.dense"), x]), name + "attention.output.LayerNorm")
        inner = op("Gelu", [linear(x, name + "intermediate.dense")])
        x = normalized(op("Add", [linear(inner, name + "output.dense"), x]), name + "output.LayerNorm")
    kept = op("Mul", [x, op("Unsqueeze", ["mask", integers(2)])])
    nodes.append(helper.make_node("ReduceSum", [kept, integers(1)], ["sum"], keepdims=0))
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"]),
        helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["texts", "tokens"]),
    ]
    output = helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["texts", WIDTH])
    graph = helper.make_graph(nodes, "model", inputs, [output], list(constants.values()))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def embedder(folder):
    """Returns a function that embeds texts as vectors of length 1."""
    weights = {name.removeprefix("bert."): value for name, value in load_file(folder + "/model.safetensors").items()}
    with tempfile.TemporaryDirectory() as temporary:
        export(weights, temporary + "/exact.onnx")
        quantize_dynamic(
            temporary + "/exact.onnx",
            temporary + "/fast.onnx",
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=["MatMul"],
        )
        session = onnxruntime.InferenceSession(temporary + "/fast.onnx", providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(32)

    def embed(texts, batch=64):
        tokens = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        vectors = np.zeros((len(tokens), WIDTH), np.float32)
        for start in range(0, len(order), batch):
            places = order[start : start + batch]
            longest = len(tokens[places[-1]])
            ids, mask = np.zeros((len(places), longest), np.int64), np.zeros((len(places), longest), np.float32)
            for row, place in enumerate(places):
                ids[row, : len(tokens[place])] = tokens[place]
                mask[row, : len(tokens[place])] = 1
            (sums,) = session.run(None, {"ids": ids, "mask": mask})
            vectors[places] = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return vectors

    return embed


def fit(shares, targets, start):
    """Solves for vectors whose means are the targets, near the vectors of the start (conjugate gradients)."""
    predicted = shares @ start
    start = start * (predicted * targets).sum() / (predicted * predicted).sum()
    transposed = shares.T.tocsr()
    change = np.zeros_like(start)
    rest = transposed @ (targets - shares @ start)
    direction, squares = rest.copy(), (rest * rest).sum(0)
    for _ in range(40):
        product = transposed @ (shares @ direction) + RIDGE * direction
        step = squares / np.maximum((direction * product).sum(0), 1e-12)
        change += step * direction
        rest -= step * product
        before, squares = squares, (rest * rest).sum(0)
        direction = rest + squares / np.maximum(before, 1e-12) * direction
    return start + change


def main(folder, source, output):
    with open(source, encoding="utf-8") as file:
        content = json.load(file)
    stems, sentences = content["stems"], content["sentences"]
    places = {entry["stem"]: place for place, entry in enumerate(stems)}
    known = [[places[stem] for stem in sentence["stems"] if stem in places] for sentence in sentences]
    rows = [row for row, found in enumerate(known) if found]
    embed = embedder(folder)
    targets = embed([sentences[row]["text"] for row in rows])
    targets -= targets.mean(0)
    frequency = np.array([entry["frequency"] for entry in stems])
    alone = embed([entry["word"] for entry in stems])
    alone -= (alone * frequency[:, None]).sum(0) / frequency.sum()
    alone *= (RARE / (RARE + frequency))[:, None].astype(np.float32)
    shares = sparse.csr_matrix(
        (
            [1 / len(known[row]) for row in rows for _ in known[row]],
            ([at for at, row in enumerate(rows) for _ in known[row]], [place for row in rows for place in known[row]]),
        ),
        shape=(len(rows), len(stems)),
        dtype=np.float32,
    )
    vectors = fit(shares, targets, alone)[:WORDS]
    _, _, directions = np.linalg.svd(vectors * np.sqrt(frequency[:WORDS])[:, None], full_matrices=False)
    vectors = (vectors @ directions[COMMON_DIRECTIONS : COMMON_DIRECTIONS + DIMENSIONS].T)[:KEPT]
    largest = np.abs(vectors).max(1)
    halves = (np.round(vectors / largest[:, None] * 7) + 8).astype(np.uint8)
    weights = np.clip(np.round(largest / largest.max() * 255), 1, 255).astype(np.uint8)
    table = {
        "dimensions": DIMENSIONS,
        "stems": " ".join(entry["stem"] for entry in stems[:KEPT]),
        "weights": base64.b64encode(weights.tobytes()).decode(),
        "vectors": base64.b64encode((halves[:, 0::2] | (halves[:, 1::2] << 4)).tobytes()).decode(),
    }
    with open(output, "w", encoding="utf-8") as file:
        json.dump(table, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
