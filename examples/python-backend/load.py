"""Callers who each ask for one item, wait for its answer, and ask again; what they got, a second."""
import argparse
import sys
import threading
import time

import grpc
import numpy as np

from proto_file import load

pb = load('inference.proto')


def method_of(target):
    # A channel of its own: each caller is a client by itself.
    channel = grpc.insecure_channel(target, options=[('grpc.use_local_subchannel_pool', 1)])
    return channel.unary_unary(
        '/example.Inference/Compute',
        request_serializer=pb.Input.SerializeToString,
        response_deserializer=pb.Output.FromString,
    )


def any_request():
    return pb.Input(features=np.random.default_rng().normal(size=16))


def call_again_and_again(target, until, waits):
    compute = method_of(target)
    request = any_request()
    while (start := time.perf_counter()) < until:
        compute(request, timeout=10)
        waits.append(time.perf_counter() - start)


if __name__ == '__main__':
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument('target', nargs='?', default='localhost:50049')
    options.add_argument('--callers', type=int, default=32)
    options.add_argument('--seconds', type=float, default=5)
    options = options.parse_args()
    try:
        method_of(options.target)(any_request(), timeout=10)
    except grpc.RpcError as error:
        sys.exit(f'No answer from {options.target}: {error.code().name}: {error.details()}')
    waits = []
    start = time.perf_counter()
    threads = [
        threading.Thread(target=call_again_and_again, args=(options.target, start + options.seconds, waits))
        for _ in range(options.callers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    p50, p99 = 1000 * np.percentile(waits, [50, 99])
    rate = len(waits) / (time.perf_counter() - start)
    print(f'{rate:.0f} answers/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms')
