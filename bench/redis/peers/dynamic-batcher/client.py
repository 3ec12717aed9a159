"""The closed loop of src/closed-loop.ts, for a client in Python: `client.py <load as JSON>`."""

import asyncio
import json
import logging
import os
import sys
import time

from dynamic_batcher import DynamicBatcher

DRAIN_SECONDS = 5


async def main(callers: int, warmupMs: float, timedMs: float) -> None:
    batcher = DynamicBatcher()
    latencies_ms: list[float] = []
    sent = settled = failed = 0
    is_timed = is_over = False

    async def call(caller: int) -> None:
        nonlocal sent, settled, failed
        number = caller
        while not is_over:
            sent_at = time.perf_counter()
            sent += 1
            answer = await batcher.asend({"id": number})
            settled += 1
            if answer != {"id": number}:
                failed += 1
            elif is_timed:
                latencies_ms.append(1000 * (time.perf_counter() - sent_at))
            number += callers

    tasks = [asyncio.create_task(call(caller)) for caller in range(callers)]
    await asyncio.sleep(warmupMs / 1000)
    is_timed = True
    started_at = time.perf_counter()
    await asyncio.sleep(timedMs / 1000)
    is_timed = False
    is_over = True
    elapsed = time.perf_counter() - started_at
    await asyncio.wait(tasks, timeout=DRAIN_SECONDS)

    latencies_ms.sort()

    def percentile(share: float) -> float | None:
        if not latencies_ms:
            return None
        return latencies_ms[min(len(latencies_ms) - 1, int(share * len(latencies_ms)))]

    report = {
        "perSecond": len(latencies_ms) / elapsed,
        "p50Ms": percentile(0.5),
        "p99Ms": percentile(0.99),
        "sent": sent,
        "failed": failed,
        "unanswered": sent - settled,
    }
    print(json.dumps(report), flush=True)
    # Callers whose request was lost would wait for minutes.
    os._exit(0)


logging.disable(logging.CRITICAL)
asyncio.run(main(**json.loads(sys.argv[1])))
