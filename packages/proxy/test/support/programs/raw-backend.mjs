/**
 * A backend on bare HTTP/2 that misbehaves on command. The test sends a list of steps for a stream; the default is an echo.
 * Every stream is reported to the test: begun, completely received, held, closed. Only the five bytes of the gRPC prefix are
 * parsed, so every rule of the protocol can be violated.
 */
import { constants, createSecureServer, createServer } from 'node:http2';

const { port = 0, tls, settings, maxReported = 1024 } = JSON.parse(process.argv[2] ?? '{}');

const PREFIX_BYTES = 5;
/** The first behaviour that matches and is not used up applies. */
const behaviours = [];
const held = new Map();
const streams = new Map();
const sessions = new Set();
const sockets = new Set();
/** Sessions that received GOAWAY. */
const afterGoaway = new WeakSet();
let count = 0;
let health = 'serving';

const server = tls === undefined ? createServer({ settings }) : createSecureServer({ settings, ...tls });
server.on('connection', (socket) => {
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
});
server.on('session', (session) => {
  sessions.add(session);
  report({ type: 'session', open: sessions.size });
  session.on('error', () => {});
  session.on('close', () => {
    sessions.delete(session);
    report({ type: 'session closed', open: sessions.size });
  });
});
server.on('stream', (stream, headers, _flags, rawHeaders) => {
  if (headers[':path'] === '/grpc.health.v1.Health/Check') {
    answerHealth(stream);
    return;
  }
  // nghttp2 starts streams that arrive between this call and the frame, although the frame excludes them.
  if (afterGoaway.has(stream.session)) {
    stream.on('error', () => {});
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return;
  }
  const call = new Call(stream, headers, rawHeaders);
  void call.run(behaviourFor(headers[':path']));
});
server.listen(port, '127.0.0.1', () => report({ type: 'listening', port: server.address().port }));

process.on('message', (message) => {
  if (message.behave !== undefined) {
    if (message.forget) behaviours.length = 0;
    // Behaviours of one method precede those of all methods.
    if (message.behave.path === undefined) behaviours.push({ ...message.behave });
    else behaviours.unshift({ ...message.behave });
  }
  if (message.forget && message.behave === undefined) behaviours.length = 0;
  if (message.release !== undefined) {
    for (const release of held.get(message.release) ?? []) release();
    held.delete(message.release);
  }
  if (message.steps !== undefined) void streams.get(message.stream)?.perform(message.steps);
  if (message.health !== undefined) health = message.health;
  if (message.goaway !== undefined) for (const session of sessions) goAway(session, message.goaway);
  report({ type: 'done', request: message.request });
});

function goAway(session, code, last) {
  afterGoaway.add(session);
  session.goaway(code, last);
}

function report(message) {
  if (process.connected) process.send(message);
}

/** A message whose field 1 is 1 (serving) or 2 (not serving), encoded by hand. */
function answerHealth(stream) {
  report({ type: 'health check', health });
  stream.on('error', () => {});
  stream.resume();
  if (health === 'silent') return;
  const head = { ':status': 200, 'content-type': 'application/grpc' };
  if (health === 'unimplemented') {
    stream.respond({ ...head, 'grpc-status': '12' }, { endStream: true });
    return;
  }
  stream.respond(head, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.from([0, 0, 0, 0, 2, 8, health === 'serving' ? 1 : 2]));
}

function behaviourFor(path) {
  const behaviour = behaviours.find((one) => one.times !== 0 && (one.path ?? path) === path);
  if (behaviour?.times !== undefined) behaviour.times -= 1;
  if (behaviour?.choices !== undefined)
    return behaviour.choices[Math.floor(Math.random() * behaviour.choices.length)];
  return behaviour?.steps ?? [{ do: 'echo' }, { do: 'end' }];
}

class Call {
  id = ++count;
  #stream;
  /** The received part of an incomplete message. */
  #chunks = [];
  #bytes = 0;
  /** The number of valid bytes. */
  #needed = PREFIX_BYTES;
  #items = [];
  #hasEnded = false;
  #onChange = [];
  #answered = 0;
  #trailers;

  constructor(stream, headers, rawHeaders) {
    this.#stream = stream;
    streams.set(this.id, this);
    report({
      type: 'begun',
      id: this.id,
      path: headers[':path'],
      headers: plain(headers),
      rawHeaders,
      at: Date.now(),
    });
    stream.on('data', (chunk) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes >= this.#needed) this.#takeItems();
    });
    stream.on('end', () => {
      this.#hasEnded = true;
      const items = this.#items.map((item) => ({
        length: item.length - PREFIX_BYTES,
        flag: item[0],
        ...(item.length <= maxReported ? { base64: item.subarray(PREFIX_BYTES).toString('base64') } : {}),
      }));
      // A reset also ends the readable side, but is not a half-close.
      if (!stream.aborted) report({ type: 'received', id: this.id, items, rest: this.#bytes });
      this.#wake();
    });
    stream.on('wantTrailers', () => {
      if (this.#trailers !== undefined) stream.sendTrailers(this.#trailers);
    });
    stream.on('error', () => {});
    stream.on('close', () => {
      streams.delete(this.id);
      const { rstCode, aborted } = stream;
      report({ type: 'closed', id: this.id, rstCode, aborted, answered: this.#answered });
      this.#wake();
    });
  }

  async run(steps) {
    if (steps[0]?.do !== 'at once') await this.#until(() => this.#hasEnded);
    if (!this.#stream.destroyed) await this.perform(steps);
  }

  async perform(steps) {
    // Not while nghttp2 reads: when a connection ends in one of its callbacks, Node frees memory that is still being read,
    // and the process sometimes crashes.
    await new Promise((resolve) => setImmediate(resolve));
    for (const step of steps) {
      if (this.#stream.destroyed) return;
      await this.#perform(step);
    }
  }

  #takeItems() {
    let rest = Buffer.concat(this.#chunks);
    for (;;) {
      this.#needed = PREFIX_BYTES + (rest.length < PREFIX_BYTES ? 0 : rest.readUInt32BE(1));
      if (rest.length < this.#needed) break;
      this.#items.push(rest.subarray(0, this.#needed));
      rest = rest.subarray(this.#needed);
      this.#wake();
    }
    this.#chunks = [rest];
    this.#bytes = rest.length;
  }

  async #perform(step) {
    const stream = this.#stream;
    switch (step.do) {
      case 'at once':
      case 'nothing':
        return;
      case 'read no more':
        stream.pause();
        return;
      case 'hold':
        report({ type: 'held', id: this.id, name: step.name });
        await new Promise((resolve) => held.set(step.name, [...(held.get(step.name) ?? []), resolve]));
        return;
      case 'delay':
        await new Promise((resolve) => setTimeout(resolve, step.ms + step.perItemMs * this.#items.length));
        return;
      case 'headers':
        this.#respond(step.headers);
        return;
      case 'echo': {
        this.#respond();
        const end = Math.min(this.#answered + (step.count ?? Infinity), this.#items.length);
        const answers = this.#items.slice(this.#answered, end).map((item) => answerTo(item, step));
        this.#answered = end;
        await this.#write(Buffer.concat(answers), step.cuts);
        return;
      }
      case 'write':
        this.#respond();
        await this.#write(Buffer.from(step.hex, 'hex'));
        return;
      case 'end':
        this.#respond();
        this.#trailers = statusOf(step);
        stream.end();
        await this.#until(() => stream.destroyed);
        return;
      case 'end without trailers':
        this.#respond();
        this.#trailers = undefined;
        // Not before 'finish': Node drops the RST_STREAM of a stream that is closed earlier, and the peer waits forever.
        stream.on('wantTrailers', () => setImmediate(() => stream.close()));
        stream.end();
        return;
      case 'trailers only':
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', ...statusOf(step) },
          { endStream: true },
        );
        return;
      case 'http':
        stream.respond({ ':status': step.status, 'content-type': 'text/plain' });
        stream.end(step.body ?? 'no');
        return;
      case 'reset':
        stream.close(step.code);
        return;
      case 'goaway':
        // 0: the last received stream.
        goAway(
          stream.session,
          step.code ?? constants.NGHTTP2_NO_ERROR,
          step.last === 'before' ? stream.id - 2 : 0,
        );
        return;
      case 'destroy':
        for (const socket of sockets) socket.destroy();
        return;
      default:
        throw new Error(`expected a known step, got ${JSON.stringify(step)}`);
    }
  }

  #respond(headers = {}) {
    if (this.#stream.headersSent) return;
    this.#stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', ...headers },
      { waitForTrailers: true },
    );
  }

  /** In chunks that end at these bytes or, below 1, shares of the whole. Each chunk is sent before the next is written. */
  async #write(bytes, cuts = []) {
    const places = cuts.map((cut) => Math.min(Math.floor(cut < 1 ? cut * bytes.length : cut), bytes.length));
    const ends = [...places, bytes.length].sort((a, b) => a - b);
    let start = 0;
    for (const end of ends) {
      if (this.#stream.destroyed) return;
      const piece = bytes.subarray(start, end);
      start = end;
      if (piece.length > 0) await new Promise((resolve) => this.#stream.write(piece, resolve));
    }
  }

  async #until(isSo) {
    while (!isSo() && !this.#stream.destroyed) await new Promise((resolve) => this.#onChange.push(resolve));
  }

  #wake() {
    for (const wake of this.#onChange.splice(0)) wake();
  }
}

function answerTo(item, { mark }) {
  if (mark === undefined) return item;
  const answer = Buffer.concat([item, Buffer.from(mark)]);
  answer.writeUInt32BE(answer.length - PREFIX_BYTES, 1);
  return answer;
}

function statusOf({ status = 0, message, trailers = {} }) {
  return {
    'grpc-status': String(status),
    ...(message === undefined ? {} : { 'grpc-message': message }),
    ...trailers,
  };
}

function plain(headers) {
  return Object.fromEntries(Object.entries(headers));
}
