import { Hono } from 'hono';
import { classify } from './model.js';

export const app = new Hono();

app.post('/predict', async (context) => {
  const body: unknown = await context.req.json().catch(() => undefined);
  return context.json(await classify(body, context.req.raw.signal));
});
