"""Run batches in the order of arrival, at most `concurrency` at a time."""
from __future__ import annotations

import asyncio
import os
import sys
import threading
import traceback
from queue import Empty, SimpleQueue
from typing import Optional, Tuple

from .batch import Model
from .connection import Connection
from .errors import ProtocolError
from .wire import Message

Job = Optional[Tuple[Connection, Message]]  # None ends one worker


class Executor:
    """`submit` and `finish` may be called from any thread, also before `run`."""

    def __init__(self, concurrency: int = 1) -> None:
        self.concurrency = concurrency
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._async_jobs: asyncio.Queue[Job]

    def submit(self, connection: Connection, message: Message) -> None:
        self._put((connection, message))

    def finish(self) -> None:
        """No more batches follow: `run` returns after the last one."""
        for _ in range(self.concurrency):
            self._put(None)

    def run(self, model: Model) -> None:
        """Run batches until `finish`. With concurrency 1 they run on the calling thread."""
        if model.loop is not None:
            model.loop.run_until_complete(self._run_async(model, model.loop))
            return
        if self.concurrency == 1:
            self._work(model)
            return
        threads = [threading.Thread(target=self._work, args=(model,), daemon=True) for _ in range(self.concurrency)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _put(self, job: Job) -> None:
        self._jobs.put(job)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._move_jobs)

    def _work(self, model: Model) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            connection, message = job
            try:
                if not connection.has_ended:
                    connection.respond(model.respond(message))
            except ProtocolError as error:
                connection.fail(error)
            except BaseException as error:
                _abort(error)
                raise
            del job, message  # the buffer is free while this thread waits

    async def _run_async(self, model: Model, loop: asyncio.AbstractEventLoop) -> None:
        self._async_jobs = asyncio.Queue()
        self._loop = loop
        self._move_jobs()
        await asyncio.gather(*(self._work_async(model) for _ in range(self.concurrency)))
        self._loop = None

    def _move_jobs(self) -> None:
        try:
            while True:
                self._async_jobs.put_nowait(self._jobs.get_nowait())
        except Empty:
            pass

    async def _work_async(self, model: Model) -> None:
        while True:
            job = await self._async_jobs.get()
            if job is None:
                return
            connection, message = job
            try:
                if not connection.has_ended:
                    connection.respond(await model.respond_async(message))
            except ProtocolError as error:
                connection.fail(error)
            except BaseException as error:
                _abort(error)
                raise


def _abort(error: BaseException) -> None:
    """End the process: a worker that vanished would leave its batches without a response.

    Returns for an exception that ends the program anyway: SystemExit or KeyboardInterrupt on the main thread.
    """
    if isinstance(error, Exception) or threading.current_thread() is not threading.main_thread():
        traceback.print_exception(type(error), error, error.__traceback__)
        sys.stderr.flush()
        os._exit(1)
