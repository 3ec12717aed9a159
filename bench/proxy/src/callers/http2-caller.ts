/** A minimal gRPC client on node:http2, the same for the bare echo, the bare hop and the proxy. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { type Caller, CONNECTIONS } from '../caller.js';
import { COMPUTE, FRAME_BYTES, frameFor, numberOfMessage, PREFIX_BYTES } from '../echo-message.js';

const HEADERS = { ':method': 'POST', ':path': COMPUTE, 'content-type': 'application/grpc', te: 'trailers' };

export async function http2Caller(port: number): Promise<Caller> {
  const sessions = Array.from({ length: CONNECTIONS }, () => connect(`http://127.0.0.1:${port}`));
  await Promise.all(sessions.map((session) => once(session, 'connect')));
  // Calls in flight at the end of a run may lose their connection; other failures are counted per stream.
  for (const session of sessions) session.on('error', () => {});
  let next = 0;
  return {
    call(number, onAnswer) {
      const session = sessions[next] as ClientHttp2Session;
      next = (next + 1) % CONNECTIONS;
      callOn(session, number, onAnswer);
    },
    close() {
      for (const session of sessions) session.destroy();
    },
  };
}

function callOn(
  session: ClientHttp2Session,
  number: number,
  onAnswer: (answer: number | undefined) => void,
): void {
  const stream = session.request(HEADERS);
  let received: Buffer | undefined;
  let isOk = false;
  stream.on('data', (chunk: Buffer) => {
    received = received === undefined ? chunk : Buffer.concat([received, chunk]);
  });
  stream.on('trailers', (trailers) => {
    isOk = trailers['grpc-status'] === '0';
  });
  stream.on('error', () => {});
  stream.on('close', () => {
    const isWhole = isOk && received?.length === FRAME_BYTES;
    onAnswer(isWhole ? numberOfMessage((received as Buffer).subarray(PREFIX_BYTES)) : undefined);
  });
  stream.end(frameFor(number));
}
