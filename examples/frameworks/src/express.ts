import express from 'express';
import { clientSignal } from './client-signal.js';
import { classify } from './model.js';

export const app = express();
app.use(express.json());

app.post('/predict', async (request, response) => {
  response.json(await classify(request.body, clientSignal(response)));
});
