import type { Connection } from './connection.js';
import type { GrpcError } from './grpc-error.js';

/** What waits in a channel for a connection with a free stream. */
export interface Waiting {
  /** True for one that has given up waiting. */
  readonly isOver: boolean;
  begin(connection: Connection): void;
  refuse(error: GrpcError): void;
}
