import { readServerUrl } from './server-url.ts';

/** Name of an option in a URL of EventStoreDB as its client compares them: in any spelling. */
export const optionName = (text: string): string => text.trim().toLowerCase().replace(/[_-]/g, '');

/** Whether a URL of EventStoreDB has credentials that its client keeps to itself: without TLS it sends none. */
export const hasUnsentCredentials = (eventStoreUrl: string): boolean => {
  const server = readServerUrl(eventStoreUrl);
  const tls = server?.options.findLast(([name]) => optionName(name) === 'tls');
  return !!server?.username && tls?.[1].trim() === 'false';
};
