import { fastify } from 'fastify';
import { clientSignal } from './client-signal.js';
import { classify } from './model.js';

export const app = fastify();

app.post('/predict', (request, reply) => classify(request.body, clientSignal(reply.raw)));
