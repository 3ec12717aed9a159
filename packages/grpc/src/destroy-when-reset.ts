/**
 * Frees streams that the peer has reset without an error (NO_ERROR). Node keeps those until what they hold was read
 * and what they had to send is sent, which it never is: they would count as open for ever, and so would their calls.
 */
import type { Http2Stream, ServerHttp2Stream } from 'node:http2';
import { constants } from 'node:http2';

/** Who resets a call does not want it, so what has come of its request is thrown away. */
export function destroyWhenReset(stream: ServerHttp2Stream): void {
  stream.on('aborted', () => setImmediate(destroyIfGone, stream));
  stream.on('end', () => {
    // Node destroys a stream by itself that has nothing more to send.
    if (stream.closed && !stream.writableFinished) setImmediate(destroyIfGone, stream);
  });
}

/** A stream that this side is closing has something to send until nghttp2 has forgotten it. */
function destroyIfGone(stream: Http2Stream): void {
  if (!stream.destroyed && stream.state.state === FORGOTTEN) stream.destroy();
}

const FORGOTTEN = constants.NGHTTP2_STREAM_STATE_IDLE;
