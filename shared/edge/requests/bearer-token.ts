import type { IncomingHttpHeaders } from 'node:http';

/** Returns the token of the header `authorization` (RFC 6750, section 2.1); `undefined` without one. */
export const bearerToken = ({ authorization }: IncomingHttpHeaders): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
