"""
A MiniLM-size encoder behind Python. Says where it listens in one line of JSON; ends with SIGTERM.

    python3 main.py [--device cuda|cpu] [--small] [--no-graphs] [--max-batch 512] [--alone]
"""

import argparse
import asyncio
import json
import statistics
import sys
import time

from counted import Counted

NAME = "minilm"
ROW_BYTES = 8 * 64


def model_of(args):
    if args.small:
        from encoder_numpy import NumpyModel

        return NumpyModel(args.max_batch)
    from encoder_torch import TorchModel

    return TorchModel(args.device, args.max_batch, not args.no_graphs)


def alone(model) -> list[dict]:
    """Batches one after another in this process, from bytes to bytes: what nobody in front of it can exceed."""
    rows = []
    for size in [size for size in (1, 8, 32, 64, 128, 256, 512) if size <= model.max_batch]:
        raw = bytes(ROW_BYTES * size)
        for _ in range(5):
            model.run(raw)
        times = []
        until = time.perf_counter() + 0.7
        while time.perf_counter() < until:
            started = time.perf_counter()
            model.run(raw)
            times.append(1000 * (time.perf_counter() - started))
        median = statistics.median(times)
        rows.append({"size": size, "p50_ms": median, "p99_ms": sorted(times)[int(0.99 * len(times))], "per_second": 1000 * size / median})
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--no-graphs", action="store_true")
    parser.add_argument("--max-batch", type=int, default=512)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--alone", action="store_true")
    args = parser.parse_args()
    # Threads that wait for the interpreter get it sooner than by default (5 ms).
    sys.setswitchinterval(0.0005)
    model = model_of(args)
    model.run(bytes(ROW_BYTES))
    if args.alone:
        print(json.dumps({"model": model.name, "alone": alone(model)}), flush=True)
        return
    counted = Counted(model)
    try:
        from grpc_server import serve_grpc

        grpc_port = serve_grpc(counted, NAME, args.threads)
    except ImportError as error:
        print(f"no gRPC: {error}", file=sys.stderr)
        grpc_port = None

    def say(http_port: int):
        print(json.dumps({"model": model.name, "name": NAME, "grpc_port": grpc_port, "http_port": http_port}), flush=True)

    asyncio.run(serve_http_until_ended(counted, model.name, say))


async def serve_http_until_ended(counted, about: str, say):
    from http_server import serve_http

    await serve_http(counted, NAME, {"model": about}, say)


main()
