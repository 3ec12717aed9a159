"""A model behind the Open Inference Protocol: a whole batch comes in one message, and leaves in one."""
import argparse
import math
import signal
from concurrent import futures

import grpc
import numpy as np

from proto_file import load

pb = load('open_inference.proto')  # with protoc: import open_inference_pb2 as pb

DTYPES = {'BOOL': '?', 'INT8': 'i1', 'INT16': '<i2', 'INT32': '<i4', 'INT64': '<i8', 'UINT8': 'u1',
          'UINT16': '<u2', 'UINT32': '<u4', 'UINT64': '<u8', 'FP16': '<f2', 'FP32': '<f4', 'FP64': '<f8'}


class OpenInference:
    def __init__(self, model):
        self.model = model

    def ServerLive(self, request, context):
        return pb.ServerLiveResponse(live=True)

    def ServerReady(self, request, context):
        return pb.ServerReadyResponse(ready=True)

    def ModelReady(self, request, context):
        return pb.ModelReadyResponse(ready=request.name == self.model.name)

    def ModelMetadata(self, request, context):
        self.check_name(request.name, context)
        answer = pb.ModelMetadataResponse(
            name=self.model.name, versions=['1'], platform=self.model.platform)
        for name, (datatype, shape) in self.model.inputs.items():
            answer.inputs.add(name=name, datatype=datatype, shape=shape)
        for name, (datatype, shape) in self.model.outputs.items():
            answer.outputs.add(name=name, datatype=datatype, shape=shape)
        return answer

    def ModelInfer(self, request, context):
        self.check_name(request.model_name, context)
        try:
            results = self.model.run(**self.arrays(request))
        except ValueError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        answer = pb.ModelInferResponse(model_name=self.model.name, model_version='1', id=request.id)
        for name in [output.name for output in request.outputs] or self.model.outputs:
            if name not in results:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT,
                              f'outputs: expected one of {list(results)}, got "{name}"')
            datatype = self.model.outputs[name][0]
            answer.outputs.add(name=name, datatype=datatype, shape=results[name].shape)
            answer.raw_output_contents.append(results[name].astype(DTYPES[datatype], copy=False).tobytes())
        return answer

    def arrays(self, request):
        """The inputs by their names, as views of the bytes that came: no element is touched."""
        if len(request.raw_input_contents) != len(request.inputs):
            raise ValueError(f'raw_input_contents: expected one for each of the {len(request.inputs)} inputs, '
                             f'got {len(request.raw_input_contents)}; typed contents are not served here')
        if {tensor.name for tensor in request.inputs} != set(self.model.inputs):
            raise ValueError(f'inputs: expected {list(self.model.inputs)}, '
                             f'got {[tensor.name for tensor in request.inputs]}')
        arrays = {}
        for tensor, raw in zip(request.inputs, request.raw_input_contents):
            datatype, shape = self.model.inputs[tensor.name]
            fits = len(shape) == len(tensor.shape) and all(
                wanted in (-1, got) and got >= 0 for wanted, got in zip(shape, tensor.shape))
            if tensor.datatype != datatype or not fits:
                raise ValueError(f'{tensor.name}: expected {datatype} {shape}, '
                                 f'got {tensor.datatype} {list(tensor.shape)}')
            size = math.prod(tensor.shape) * np.dtype(DTYPES[datatype]).itemsize
            if len(raw) != size:
                raise ValueError(f'{tensor.name}: expected {size} bytes, got {len(raw)}')
            arrays[tensor.name] = np.frombuffer(raw, DTYPES[datatype]).reshape(tensor.shape)
        return arrays

    def check_name(self, name, context):
        if name != self.model.name:
            context.abort(grpc.StatusCode.NOT_FOUND, f'there is no model "{name}"; this is "{self.model.name}"')


def handlers(service):  # with protoc: add_GRPCInferenceServiceServicer_to_server(service, server)
    names = ['ServerLive', 'ServerReady', 'ModelReady', 'ModelMetadata', 'ModelInfer']
    return grpc.method_handlers_generic_handler('inference.GRPCInferenceService', {
        name: grpc.unary_unary_rpc_method_handler(
            getattr(service, name),
            request_deserializer=getattr(pb, f'{name}Request').FromString,
            response_serializer=getattr(pb, f'{name}Response').SerializeToString)
        for name in names
    })


def make_model(name):
    """By default the encoder where it is quick: with PyTorch and a GPU."""
    if name is None:
        try:
            import torch
            name = 'minilm' if torch.cuda.is_available() else 'mlp'
        except ImportError:
            name = 'mlp'
    if name == 'minilm':
        from minilm import MiniLm
        return MiniLm()
    from mlp import Mlp
    return Mlp()


if __name__ == '__main__':
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument('--port', type=int, default=8001)
    options.add_argument('--model', choices=['mlp', 'minilm'])
    options = options.parse_args()
    model = make_model(options.model)
    # Two at a time: while one is computed, the next is received and the last one sent.
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2), options=[
        ('grpc.max_receive_message_length', 256 << 20), ('grpc.max_send_message_length', 256 << 20)])
    server.add_generic_rpc_handlers((handlers(OpenInference(model)),))
    port = server.add_insecure_port(f'127.0.0.1:{options.port}')
    server.start()
    signal.signal(signal.SIGTERM, lambda *_: server.stop(grace=5))
    print(f'{model.name} listening on {port}', flush=True)
    server.wait_for_termination()
