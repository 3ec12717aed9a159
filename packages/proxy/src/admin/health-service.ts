/**
 * `grpc.health.v1.Health` for the proxy itself: serving while the proxy accepts calls and a backend is ready. The two
 * messages are encoded by hand.
 */
import { type CallStream, frameOf, GrpcError, type IncomingCall, messageOf, STATUS } from '@batchwise/grpc';

const CHECK = '/grpc.health.v1.Health/Check';
const WATCH = '/grpc.health.v1.Health/Watch';

/** `HealthCheckResponse { ServingStatus status = 1; }` */
const statusFrame = (status: number): Buffer => frameOf(Uint8Array.of(0x08, status));
const SERVING = statusFrame(1);
const NOT_SERVING = statusFrame(2);
const SERVICE_UNKNOWN = statusFrame(3);

export class HealthService {
  readonly #isServing: () => boolean;
  /** Open Watch streams; true if the stream watches the proxy, the only known service. */
  readonly #watchers = new Map<CallStream, boolean>();
  #wasServing = false;
  #isEnding = false;

  constructor(isServing: () => boolean) {
    this.#isServing = isServing;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Answers a call of the health protocol. Returns false for other calls. */
  accept(call: IncomingCall): boolean {
    if (call.path === CHECK) call.readUnary((frame) => this.#check(call, frame));
    else if (call.path === WATCH) call.readUnary((frame) => this.#watch(call, frame));
    else return false;
    return true;
  }

  /** Call when the readiness may have changed. */
  update(): void {
    const isServing = this.#isServing();
    if (isServing === this.#wasServing) return;
    this.#wasServing = isServing;
    for (const [stream, isKnown] of this.#watchers) if (isKnown) sendStatus(stream, this.#frame());
  }

  /** Ends all Watch streams, which would keep the proxy from closing. */
  end(): void {
    this.update();
    this.#isEnding = true;
    for (const stream of this.#watchers.keys()) stream.end();
  }

  #check(call: IncomingCall, frame: Buffer): void {
    if (isAboutProxy(frame)) call.answer(this.#frame());
    else {
      const message =
        'unknown service: the proxy reports only its own health, as service "". Set health to "pass" to query the backend';
      call.fail(new GrpcError(STATUS.NOT_FOUND, message));
    }
  }

  #watch(call: IncomingCall, frame: Buffer): void {
    const { stream } = call;
    if (stream.destroyed) return;
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    stream.on('wantTrailers', () => {
      const message = 'the proxy is closing';
      stream.sendTrailers({ 'grpc-status': String(STATUS.UNAVAILABLE), 'grpc-message': message });
    });
    const isKnown = isAboutProxy(frame);
    this.#watchers.set(stream, isKnown);
    call.onGone(() => this.#watchers.delete(stream));
    sendStatus(stream, isKnown ? this.#frame() : SERVICE_UNKNOWN);
    if (this.#isEnding) stream.end();
  }

  #frame(): Buffer {
    return this.#isServing() ? SERVING : NOT_SERVING;
  }
}

function sendStatus(stream: CallStream, frame: Buffer): void {
  if (!stream.destroyed && !stream.writableEnded) stream.write(frame);
}

/** `HealthCheckRequest { string service = 1; }` with an empty or missing name. */
function isAboutProxy(frame: Buffer): boolean {
  const message = messageOf(frame);
  return message.length === 0 || (message.length === 2 && message[0] === 0x0a && message[1] === 0);
}
