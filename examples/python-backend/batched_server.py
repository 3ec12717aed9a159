"""A model behind gRPC: Compute for one item, and BatchedCompute for a batch of them from the proxy."""
import argparse
import signal
import threading
import time
import urllib.parse
from concurrent import futures

import grpc
import numpy as np

from proto_file import load

pb = load('inference.proto')  # with protoc: import inference_pb2 as pb

HEADER_BYTES = 12 * 1024  # of all item errors together: peers refuse what is much larger
NO_INPUT = object()
WEIGHTS = np.random.default_rng(7).normal(size=(16, 4)).astype(np.float32)


class Inference:
    def __init__(self, compute_ms):
        self.compute_ms = compute_ms
        self.lock = threading.Lock()  # one GPU: one batch at a time

    def model(self, rows):
        with self.lock:
            time.sleep(self.compute_ms / 1000)  # what a batch of any size costs
            return np.tanh(rows @ WEIGHTS)

    def Compute(self, request, context):
        if len(request.features) != 16:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, what_is_wrong(request))
        return pb.Output(scores=self.model(np.array([request.features], np.float32))[0])

    def BatchedCompute(self, requests, context):
        items = list(requests)  # ends with the half-close: then the batch is complete
        bad = [i for i, item in enumerate(items) if item is NO_INPUT or len(item.features) != 16]
        if bad:  # they fail alone: their status goes ahead of the answers
            status = grpc.StatusCode.INVALID_ARGUMENT.value[0]
            most = (HEADER_BYTES // len(bad) - 12) // 3  # letters a message: around it 12, and %20 is three
            if most <= 0:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, f'{len(bad)} items have no 16 features')
            errors = [f'{i} {status} {urllib.parse.quote(what_is_wrong(items[i])[:most])}' for i in bad]
            context.send_initial_metadata((('batchwise-item-error', ', '.join(errors)),))
        rows = np.zeros((len(items), 16), np.float32)
        for i in set(range(len(items))).difference(bad):
            rows[i] = items[i].features
        for scores in self.model(rows):
            yield pb.Output(scores=scores)  # one answer an item, in their order


def parsed(message):  # for batches: bytes that are no Input would end the stream, and fail all its items
    try:
        return pb.Input.FromString(message)
    except Exception:
        return NO_INPUT  # not None, which is an error to grpcio


def what_is_wrong(request):
    if request is NO_INPUT:
        return 'expected an Input, got bytes that are none'
    return f'features: expected 16 numbers, got {len(request.features)}'


def handlers(service):  # with protoc: inference_pb2_grpc.add_InferenceServicer_to_server(service, server)
    answers = pb.Output.SerializeToString
    return grpc.method_handlers_generic_handler('example.Inference', {
        'Compute': grpc.unary_unary_rpc_method_handler(service.Compute, pb.Input.FromString, answers),
        'BatchedCompute': grpc.stream_stream_rpc_method_handler(service.BatchedCompute, parsed, answers),
    })


if __name__ == '__main__':
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument('--port', type=int, default=50051)
    options.add_argument('--compute-ms', type=float, default=0, help='what one run of the model takes')
    options = options.parse_args()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64))
    server.add_generic_rpc_handlers((handlers(Inference(options.compute_ms)),))
    port = server.add_insecure_port(f'127.0.0.1:{options.port}')
    server.start()
    signal.signal(signal.SIGTERM, lambda *_: server.stop(grace=5))
    print('listening on', port, flush=True)
    server.wait_for_termination()
