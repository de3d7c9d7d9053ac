"""`server.py MODEL ROWS SOCKET HOW DESCRIPTORS`: predictor.proto, its messages made from what protoc says."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from bench.rungs.predicting import Predictor, Row

MODEL, ROWS, SOCKET, HOW, DESCRIPTORS = sys.argv[1:]
PACKAGE = "pgboost"
_POOL = descriptor_pool.DescriptorPool()
for _file in descriptor_pb2.FileDescriptorSet.FromString(Path(DESCRIPTORS).read_bytes()).file:
    _POOL.Add(_file)


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{PACKAGE}.{name}"))


Nothing, Row_, Numbers, Prediction = map(_message, ("Nothing", "Row", "Numbers", "Prediction"))


def _values(message: Any) -> Row:
    kinds = [value.WhichOneof("kind") for value in message.values]
    pairs = zip(message.values, kinds, strict=True)
    return [kind and getattr(value, kind) for value, kind in pairs]


def _service() -> grpc.GenericRpcHandler:
    predictor = Predictor(MODEL, ROWS, HOW, in_place=HOW != "pipeline")
    verbs = {
        "Ping": (Nothing, lambda _, __: Nothing()),
        "Echo": (Row_, lambda row, _: Prediction(value=0 * len(_values(row)))),
        "Raw": (Row_, lambda row, _: Prediction(value=predictor.raw(_values(row)))),
        "Features": (Numbers, lambda row, _: Prediction(value=predictor.features(row.values))),
    }
    handlers = {
        verb: grpc.unary_unary_rpc_method_handler(
            call, question.FromString, lambda answer: answer.SerializeToString()
        )
        for verb, (question, call) in verbs.items()
    }
    return grpc.method_handlers_generic_handler(f"{PACKAGE}.Predictor", handlers)


if __name__ == "__main__":
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((_service(),))
    server.add_insecure_port(f"unix:{SOCKET}")
    server.start()
    server.wait_for_termination()
