/** What the spike's two sides have to agree on. */
export const REQUESTS = 'spike:requests';
export const GROUP = 'processors';

export function repliesKey(clientId: string): string {
  return `spike:replies:${clientId}`;
}
