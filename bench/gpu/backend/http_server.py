"""The model over plain HTTP/1.1 on asyncio: the Open Inference Protocol with binary tensors, and what it counted."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

ROW_BYTES, WIDTH = 8 * 64, 384
LENGTH = "inference-header-content-length"


class HttpServer:
    def __init__(self, model, name: str, about: dict):
        self.model, self.name, self.about = model, name, about
        self.threads = ThreadPoolExecutor(4)

    async def connection(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                method, path, _ = head[0].split(" ")
                writer.write(await self.answer(method, path, headers, body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, method: str, path: str, headers: dict, body: bytes) -> bytes:
        model = f"/v2/models/{self.name}"
        # With a version in the path or without.
        path = path.replace(f"{model}/versions/1", model)
        if (method, path) == ("POST", f"{model}/infer"):
            return await self.infer(headers, body)
        tensors = lambda name, datatype, width: [{"name": name, "datatype": datatype, "shape": [-1, width]}]
        pages = {
            "/stats": {**self.about, **self.model.report()},
            "/v2": {"name": "bench", "version": "1", "extensions": ["binary_tensor_data"]},
            "/v2/health/live": {"live": True},
            "/v2/health/ready": {"ready": True},
            f"{model}/ready": {"name": self.name, "ready": True},
            model: {"name": self.name, "versions": ["1"], "platform": "python", "inputs": tensors("input_ids", "INT64", 64), "outputs": tensors("embedding", "FP32", WIDTH)},
        }
        page = pages.get(path)
        return response("200 OK" if page else "404 Not Found", json.dumps(page or {"error": f"nothing at {path}"}).encode())

    async def infer(self, headers: dict, body: bytes) -> bytes:
        split = int(headers.get(LENGTH, len(body)))
        raw = memoryview(body)[split:]
        if len(raw) == 0:
            return response("400 Bad Request", b'{"error": "expected a binary tensor after the JSON, got none"}')
        answers = await asyncio.get_running_loop().run_in_executor(self.threads, self.model.run, raw)
        output = {"name": "embedding", "datatype": "FP32", "shape": [len(raw) // ROW_BYTES, WIDTH], "parameters": {"binary_data_size": len(answers)}}
        described = json.dumps({"model_name": self.name, "outputs": [output]}).encode()
        return response("200 OK", described + answers, "application/octet-stream", f"{LENGTH}: {len(described)}\r\n")


def response(status: str, body: bytes, content_type: str = "application/json", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\n{more}content-length: {len(body)}\r\n\r\n".encode() + body


async def serve_http(model, name: str, about: dict, on_ready):
    http = HttpServer(model, name, about)
    # A batch's body is large: a small limit would pause the reading of it many times.
    server = await asyncio.start_server(http.connection, "127.0.0.1", 0, limit=1 << 22)
    on_ready(server.sockets[0].getsockname()[1])
    await server.serve_forever()
