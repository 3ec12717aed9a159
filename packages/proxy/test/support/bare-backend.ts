/** A backend with hand-written frames that Node's server does not send. */

import { onTestFinished } from 'vitest';
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  HEADERS,
  headerBlock,
  rawFrame,
  rawServer,
  SETTINGS,
} from '../../../grpc/test/support/raw-http2.js';

export interface BareBackend {
  readonly target: string;
}

/** Answers every call with these headers and, if given, these trailers, without a message. */
export async function bareBackend(
  headers: Readonly<Record<string, string>>,
  trailers?: Readonly<Record<string, string>>,
): Promise<BareBackend> {
  const server = await rawServer((peer) => {
    peer.send(rawFrame(SETTINGS, 0, 0), rawFrame(SETTINGS, ACK, 0));
    void (async () => {
      for (let id = 1; !peer.isClosed; id += 2) {
        if ((await peer.saw(({ type, streamId }) => type === HEADERS && streamId === id)) === undefined)
          return;
        const isAll = trailers === undefined;
        peer.send(rawFrame(HEADERS, END_HEADERS | (isAll ? END_STREAM : 0), id, headerBlock(headers)));
        if (!isAll) peer.send(rawFrame(HEADERS, END_HEADERS | END_STREAM, id, headerBlock(trailers)));
      }
    })();
  });
  onTestFinished(() => server.close());
  return { target: `127.0.0.1:${server.port}` };
}
