"""The few messages of the Open Inference Protocol that are needed here, in bytes: protobuf without protobuf."""


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def flag(number: int) -> bytes:
    return varint(number << 3) + b"\x01"


def tensor(name: str, datatype: str, shape: tuple[int, ...]) -> bytes:
    # A shape of -1 is ten bytes, as protobuf has it: two's complement of 64 bits.
    sizes = b"".join(varint(size & 0xFFFFFFFFFFFFFFFF) for size in shape)
    return field(1, name) + field(2, datatype) + field(3, sizes)


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data: memoryview):
    """Number and content of each field: a view for those with a length, an int for varints."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = read_varint(data, at)
            yield number, value
        elif kind == 2:
            length, at = read_varint(data, at)
            yield number, data[at : at + length]
            at += length
        else:
            at += 8 if kind == 1 else 4


def infer_request(data: bytes) -> tuple[str, memoryview]:
    """The id and the raw bytes of the one input; what is not raw is refused."""
    request_id, raw = "", None
    for number, content in fields(memoryview(data)):
        if number == 3:
            request_id = bytes(content).decode()
        elif number == 7:
            raw = content
    if raw is None:
        raise ValueError("expected the input in raw_input_contents, got none")
    return request_id, raw


def infer_response(model: str, request_id: str, name: str, datatype: str, shape: tuple[int, ...], raw: bytes) -> bytes:
    head = field(1, model) + (field(3, request_id) if request_id else b"")
    return b"".join([head, field(5, tensor(name, datatype, shape)), varint(6 << 3 | 2), varint(len(raw)), raw])
