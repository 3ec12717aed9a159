"""The model over grpcio: an item a call (Compute), the batching stream (BatchedCompute), one message a batch (ModelInfer)."""

from concurrent.futures import ThreadPoolExecutor

import grpc
from wire import field, flag, infer_request, infer_response, tensor

ROW_BYTES, WIDTH = 8 * 64, 384
SERVICE = "inference.GRPCInferenceService"


class Handlers(grpc.GenericRpcHandler):
    """Without generated code: methods get and give bytes."""

    def __init__(self, model, name: str):
        ready = lambda request, context: flag(1)
        inputs, outputs = tensor("input_ids", "INT64", (-1, 64)), tensor("embedding", "FP32", (-1, WIDTH))
        metadata = field(1, name) + field(2, "1") + field(3, "python") + field(4, inputs) + field(5, outputs)

        def infer(request, context):
            request_id, raw = infer_request(request)
            rows = len(raw) // ROW_BYTES
            return infer_response(name, request_id, "embedding", "FP32", (rows, WIDTH), model.run(raw))

        def stream(requests, context):
            items = list(requests)
            answers = model.run(b"".join(items)) if items else b""
            for at in range(0, len(answers), 4 * WIDTH):
                yield answers[at : at + 4 * WIDTH]

        unary = grpc.unary_unary_rpc_method_handler
        self.methods = {
            f"/{SERVICE}/ModelInfer": unary(infer),
            f"/{SERVICE}/ModelMetadata": unary(lambda request, context: metadata),
            **{f"/{SERVICE}/{method}": unary(ready) for method in ("ServerLive", "ServerReady", "ModelReady")},
            "/bench.Encoder/Compute": unary(lambda request, context: model.run(request)),
            "/bench.Encoder/BatchedCompute": grpc.stream_stream_rpc_method_handler(stream),
            "/grpc.health.v1.Health/Check": unary(ready),
        }

    def service(self, call):
        return self.methods.get(call.method)


def serve_grpc(model, name: str, threads: int) -> int:
    limits = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0)]
    server = grpc.server(ThreadPoolExecutor(threads), handlers=[Handlers(model, name)], options=limits)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    # Kept alive by whoever holds it.
    serve_grpc.server = server
    return port
