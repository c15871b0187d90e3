import { readServerUrl } from './server-url.ts';

/** Normalises the name of an option in an EventStoreDB URL as its client does: without case, `_` and `-`. */
export const optionName = (text: string): string => text.trim().toLowerCase().replace(/[_-]/g, '');

/** Whether an EventStoreDB URL has credentials that the client does not send, because the URL turns TLS off. */
export const hasUnsentCredentials = (eventStoreUrl: string): boolean => {
  const server = readServerUrl(eventStoreUrl);
  const tls = server?.options.findLast(([name]) => optionName(name) === 'tls');
  return !!server?.username && tls?.[1].trim() === 'false';
};
