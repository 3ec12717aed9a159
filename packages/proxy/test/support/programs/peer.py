"""Python's grpcio as the backend or as the client of a test.

peer.py backend            prints {"port": ...}, then one line for every batch, until it is killed
peer.py client HOST:PORT   reads calls as lines of JSON, makes them at the same time, prints their answers as one
                           line of JSON in the same order
"""
import base64
import json
import sys
from concurrent import futures

import grpc


def identity(data):
    return data


def encoded(metadata):
    return {
        key: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for key, value in metadata or ()
    }


def report(message):
    print(json.dumps(message), flush=True)


class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        name = details.method.rpartition('/')[2]
        if name == 'Compute':
            return grpc.unary_unary_rpc_method_handler(self.compute, identity, identity)
        if name == 'BatchedCompute':
            return grpc.stream_stream_rpc_method_handler(self.batched_compute, identity, identity)
        return None

    def compute(self, item, context):
        report({'type': 'unary'})
        return item

    def batched_compute(self, items, context):
        batch = list(items)
        report({
            'type': 'batch',
            'size': len(batch),
            'metadata': encoded(context.invocation_metadata()),
            'hasDeadline': context.time_remaining() is not None,
        })
        for item in batch:
            if item == b'fail from here':
                context.set_trailing_metadata((('grpc-status-details-bin', b'details\x00'),))
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, 'so wünscht es der Server')
            yield item


def backend():
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Echo()])
    port = server.add_insecure_port('127.0.0.1:0')
    server.start()
    report({'type': 'listening', 'port': port})
    server.wait_for_termination()


def client(target):
    calls = [json.loads(line) for line in sys.stdin if line.strip()]
    with grpc.insecure_channel(target) as channel:
        compute = channel.unary_unary('/test.Echo/Compute', identity, identity)
        started = [start(compute, call) for call in calls]
        report([finish(call) for call in started])


def start(compute, call):
    metadata = [(key, value) for key, value in call.get('metadata', {}).items()]
    metadata += [(key, base64.b64decode(value)) for key, value in call.get('binary', {}).items()]
    compression = grpc.Compression.Gzip if call.get('gzip') else None
    return compute.future(
        base64.b64decode(call['message']),
        timeout=call.get('timeout'),
        metadata=metadata,
        compression=compression,
    )


def finish(call):
    try:
        answer = base64.b64encode(call.result()).decode()
    except grpc.RpcError:
        answer = None
    return {
        'status': call.code().value[0],
        'message': call.details(),
        'answer': answer,
        'headers': encoded(call.initial_metadata()),
        'trailers': encoded(call.trailing_metadata()),
    }


if __name__ == '__main__':
    client(sys.argv[2]) if sys.argv[1] == 'client' else backend()
