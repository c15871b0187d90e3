import { readServerUrl } from './server-url.ts';

/** Removes secrets from a URL: RPC providers put keys into paths, queries and user names; servers have passwords. */
export const maskUrl = (text: string): string => {
  if (!URL.canParse(text)) {
    const server = readServerUrl(text);
    return server ? `${server.scheme}://${server.hosts.join(',')}/…` : '********';
  }
  const { protocol, host, pathname, search, username, password } = new URL(text);
  const isBare = ['', '/'].includes(pathname) && search === '' && username === '' && password === '';
  return `${protocol}//${host}${isBare ? '' : '/…'}`;
};
