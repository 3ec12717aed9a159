"""The processor: `processor.py <milliseconds a batch>`, batch size and time from the environment."""

import asyncio
import sys
import time

from dynamic_batcher import BatchProcessor

BATCH_SECONDS = float(sys.argv[1]) / 1000


def answer(items: list) -> list:
    if BATCH_SECONDS > 0:
        time.sleep(BATCH_SECONDS)
    return items


async def main() -> None:
    processor = BatchProcessor()
    print("ready", flush=True)
    await processor.start_daemon(answer)


asyncio.run(main())
