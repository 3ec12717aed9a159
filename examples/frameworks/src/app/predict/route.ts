import { BatchwiseError } from 'batchwise';
import { classify } from '../../model.js';

export async function POST(request: Request): Promise<Response> {
  try {
    const body: unknown = await request.json().catch(() => undefined);
    return Response.json(await classify(body, request.signal));
  } catch (error) {
    if (error instanceof BatchwiseError) return error.getResponse();
    throw error;
  }
}
