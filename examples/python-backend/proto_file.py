"""Message classes straight from a .proto file, so that the examples run without protoc.

It reads what these examples' files use: messages, also nested ones, with plain or repeated fields. In a service
of your own, `import inference_pb2 as pb` takes the place of `pb = load('inference.proto')`.
"""
import pathlib
import re
import types

from google.protobuf import descriptor_pb2, message_factory

TOKEN = re.compile(r'//[^\n]*|"[^"]*"|[\w.]+|[^\s\w]')
SCALARS = ('double', 'float', 'int64', 'uint64', 'int32', 'bool', 'string', 'bytes', 'uint32')


def load(name):
    """A namespace with the file's top-level message classes."""
    text = pathlib.Path(__file__).with_name(name).read_text()
    tokens = iter([token for token in TOKEN.findall(text) if not token.startswith('//')])
    file = descriptor_pb2.FileDescriptorProto(name=name, syntax='proto3')
    for token in tokens:
        if token == 'package':
            file.package = next(tokens)
        elif token == 'message':
            read_message(tokens, file.message_type.add(), file.package)
        elif token == 'service':
            skip_block(tokens)
    classes = message_factory.GetMessages([file])
    return types.SimpleNamespace(**{full.rsplit('.', 1)[1]: made for full, made in classes.items()})


def read_message(tokens, message, scope):
    message.name = next(tokens)
    assert next(tokens) == '{'
    while (token := next(tokens)) != '}':
        if token == 'message':
            read_message(tokens, message.nested_type.add(), f'{scope}.{message.name}')
        else:
            read_field(tokens, token, message, scope)


def read_field(tokens, token, message, scope):
    field = message.field.add(label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL)
    if token == 'repeated':
        field.label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
        token = next(tokens)
    if token in SCALARS:
        field.type = getattr(descriptor_pb2.FieldDescriptorProto, f'TYPE_{token.upper()}')
    else:
        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
        nested = token in [inner.name for inner in message.nested_type]
        field.type_name = f'.{scope}.{message.name}.{token}' if nested else f'.{scope}.{token}'
    field.name = next(tokens)
    assert next(tokens) == '='
    field.number = int(next(tokens))
    assert next(tokens) == ';'


def skip_block(tokens):
    depth = 0
    for token in tokens:
        depth += {'{': 1, '}': -1}.get(token, 0)
        if token == '}' and depth == 0:
            return
