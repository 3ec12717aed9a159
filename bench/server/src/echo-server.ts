/** The yardstick: Fastify, which parses the body and sends a row of ten numbers back. Nothing is computed. */
import Fastify from 'fastify';

const app = Fastify();
const probabilities = Array.from({ length: 10 }, (_, i) => (i === 3 ? 0.9987654 : 0.000123456));
app.get('/readyz', () => 'ok');
app.post('/v1/models/digits:predict', (request) => {
  const { instances } = request.body as { instances: unknown[] };
  return { predictions: instances.map(() => probabilities) };
});
await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) });
process.on('SIGTERM', () => process.exit(0));
