/**
 * HTTP agents that watch their idle connections. Node's agents do not: data that a server sends on an idle
 * connection, such as the 408 of a load balancer or a duplicate response, is read as the response to the next
 * request, and all later responses are shifted. RFC 9112, 9.2 requires closing such a connection.
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

/** The type in @types/node lacks the return value: whether the socket is kept. */
type KeepAlive = (socket: Duplex) => boolean;

function watchIdle(agent: Agent): void {
  const keep = agent.keepSocketAlive.bind(agent) as unknown as KeepAlive;
  const reuse = agent.reuseSocket.bind(agent);
  const watched: KeepAlive = (socket) => {
    const isKept = keep(socket);
    if (isKept) {
      socket.on('data', destroySocket);
      socket.resume();
    }
    return isKept;
  };
  agent.keepSocketAlive = watched;
  agent.reuseSocket = (socket, request) => {
    socket.off('data', destroySocket);
    reuse(socket, request);
  };
}

function destroySocket(this: Duplex): void {
  this.destroy();
}
