/** Starts the endpoint of one framework on loopback. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ServerType, serve } from '@hono/node-server';
import { NestFactory } from '@nestjs/core';
import { app as expressApp } from './express.js';
import { app as fastifyApp } from './fastify.js';
import { app as honoApp } from './hono.js';
import { AppModule } from './nest.js';

const HOST = '127.0.0.1';

export const SERVERS = { express, fastify, hono, nest };

export type ServerName = keyof typeof SERVERS;

export interface RunningServer {
  readonly url: string;
  close(): Promise<void>;
}

async function express(port: number): Promise<RunningServer> {
  expressApp.set('env', 'test'); // Express prints every error otherwise, also each rejected request
  return running(expressApp.listen(port, HOST));
}

async function fastify(port: number): Promise<RunningServer> {
  const url = await fastifyApp.listen({ port, host: HOST });
  return { url, close: () => fastifyApp.close() };
}

async function hono(port: number): Promise<RunningServer> {
  return running(serve({ fetch: honoApp.fetch, port, hostname: HOST }));
}

async function nest(port: number): Promise<RunningServer> {
  const app = await NestFactory.create(AppModule, { logger: false });
  await app.listen(port, HOST);
  return { url: await app.getUrl(), close: () => app.close() };
}

async function running(server: Server | ServerType): Promise<RunningServer> {
  if (!server.listening) await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${HOST}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        if ('closeIdleConnections' in server) server.closeIdleConnections();
      }),
  };
}
