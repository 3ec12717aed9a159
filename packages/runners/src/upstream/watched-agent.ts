/**
 * Agents of HTTP that watch their idle connections. Node's own do not: what a server writes on one unasked, the 408 of
 * a load balancer or an answer twice, is read as the answer to the next request, and so are all that follow. RFC 9112
 * (9.2) wants such a connection closed.
 */
import { Agent, type AgentOptions } from 'node:http';
import { Agent as TlsAgent, type AgentOptions as TlsAgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';

export class WatchedAgent extends Agent {
  constructor(options: AgentOptions) {
    super(options);
    watchIdle(this);
  }
}

export class WatchedTlsAgent extends TlsAgent {
  constructor(options: TlsAgentOptions) {
    super(options);
    watchIdle(this);
  }
}

/** What the types of Node do not say: whether it is kept. */
type KeepAlive = (socket: Duplex) => boolean;

function watchIdle(agent: Agent): void {
  const keep = agent.keepSocketAlive.bind(agent) as unknown as KeepAlive;
  const reuse = agent.reuseSocket.bind(agent);
  const watched: KeepAlive = (socket) => {
    const isKept = keep(socket);
    if (isKept) {
      socket.on('data', destroyIt);
      socket.resume();
    }
    return isKept;
  };
  agent.keepSocketAlive = watched;
  agent.reuseSocket = (socket, request) => {
    socket.off('data', destroyIt);
    reuse(socket, request);
  };
}

function destroyIt(this: Duplex): void {
  this.destroy();
}
