import { isIPv6 } from 'node:net';

/** Returns the URL of a service that listens on this host and port, without a slash at the end. */
export const serviceUrl = (host: string, port: number): string => {
  const isWildcard = host === '0.0.0.0' || host === '::';
  return `http://${isWildcard ? 'localhost' : isIPv6(host) ? `[${host}]` : host}:${String(port)}`;
};
