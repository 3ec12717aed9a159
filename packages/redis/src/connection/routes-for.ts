import { ClusterRoutes } from './cluster-routes.js';
import type { LineEvents } from './line.js';
import type { LinkOptions } from './link.js';
import type { NodeOptions } from './node-connection.js';
import type { Routes } from './routes.js';
import { sentinelLocator } from './sentinel-locator.js';
import { SingleRoute } from './single-route.js';
import type { Target } from './target.js';

/** How each node of the target is talked to. */
export function nodeOptionsFor(target: Target, options: LinkOptions): NodeOptions {
  const { login, tls, database, replyTimeoutMs } = target;
  const { name, replies, clock } = options;
  return { ...login, tls, database, replyTimeoutMs, name, replies, clock };
}

export function routesFor(target: Target, node: NodeOptions, events: LineEvents): Routes {
  switch (target.kind) {
    case 'single': {
      const { address } = target;
      return new SingleRoute(async () => address, node, events);
    }
    case 'sentinel': {
      const sentinel = { ...node, ...target.sentinelLogin, database: 0 };
      return new SingleRoute(sentinelLocator(target.sentinels, target.master, sentinel), node, events);
    }
    case 'cluster':
      return new ClusterRoutes(target.seeds, node, events);
  }
}
