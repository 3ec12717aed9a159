import { type CallOptions, GrpcChannel } from '../../src/index.js';
import { type CollectedCall, collectedCall } from './collected-call.js';
import { ACK, HEADERS, type RawPeer, rawFrame, rawServer, SETTINGS } from './raw-http2.js';

export interface GreetedPeer extends AsyncDisposable {
  readonly channel: GrpcChannel;
  /** The server's end of the connection. */
  readonly peer: RawPeer;
}

/** A channel that is connected to a peer on which the test speaks. */
export async function greetedPeer(settings: Buffer = Buffer.alloc(0)): Promise<GreetedPeer> {
  const server = await rawServer((peer) => {
    peer.send(rawFrame(SETTINGS, 0, 0, settings), rawFrame(SETTINGS, ACK, 0));
  });
  // No second connection within a test: what comes of the first one is looked at.
  const channel = new GrpcChannel({ target: `127.0.0.1:${server.port}`, backoff: { initialMs: 3_600_000 } });
  await new Promise<void>((resolve) => {
    channel.onStateChange((state) => {
      if (state === 'ready') resolve();
    });
    channel.connect();
  });
  const [peer] = server.peers as [RawPeer];
  return {
    channel,
    peer,
    [Symbol.asyncDispose]: async () => {
      channel.destroy();
      await channel.close();
      server.close();
    },
  };
}

/** A call whose headers have come to the peer. */
export async function begunCall(
  { channel, peer }: GreetedPeer,
  messages?: readonly (Buffer | string)[],
  options: CallOptions = {},
): Promise<CollectedCall> {
  const before = peer.frames.filter(({ type }) => type === HEADERS).length;
  const call = collectedCall(channel, '/a.B/C', options, messages);
  await peer.saw(
    (frame) =>
      frame.type === HEADERS && peer.frames.filter(({ type }) => type === HEADERS).indexOf(frame) >= before,
  );
  return call;
}
