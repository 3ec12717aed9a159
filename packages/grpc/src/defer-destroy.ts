import type { Http2Session } from 'node:http2';

/**
 * Makes a session's `destroy` wait until what is being read has been read. Node itself destroys a session
 * from within nghttp2's callbacks (an invalid frame, GOAWAY with an error), and so does whoever closes a
 * server from a call; nghttp2 then reads on in a session that is being torn down, and a peer
 * that sends the right bytes next makes it fail an assertion, which ends the process. No option prevents
 * that, but all of these go through `session.destroy`.
 */
export function deferDestroy(session: Http2Session, onDestroy: (isGraceful: boolean) => void): void {
  const destroy = session.destroy.bind(session);
  let isAsked = false;
  session.destroy = (error, code) => {
    if (isAsked || session.destroyed) return;
    isAsked = true;
    onDestroy(session.closed && error === undefined);
    // Not a tick: those run after each callback, still within the read.
    setImmediate(() => destroy(error, code));
  };
}
