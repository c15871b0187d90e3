import { readServerUrl } from './server-url.ts';

/** Whether a URL of EventStoreDB has credentials that its client keeps to itself: without TLS it sends none. */
export const hasUnsentCredentials = (eventStoreUrl: string): boolean => {
  const server = readServerUrl(eventStoreUrl);
  const tls = server?.options.findLast(([name]) => name === 'tls');
  return !!server?.username && tls?.[1] === 'false';
};
