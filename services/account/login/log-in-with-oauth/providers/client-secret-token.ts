import { sign } from 'node:crypto';
import type { ClientSecret } from '../../../../../shared/config/oauth-settings.ts';

const LIFE_SECONDS = 300;

/**
 * Returns a client secret that is signed for one request, as Apple wants it: a JWT (ES256) of the team, for the issuer, about
 * the client.
 */
export const signClientSecret = (
  { key, keyId, teamId }: Exclude<ClientSecret, string>,
  { issuer, clientId, nowMs }: { issuer: string; clientId: string; nowMs: number },
): string => {
  const iat = Math.floor(nowMs / 1_000);
  const claims = { iss: teamId, aud: issuer, sub: clientId, iat, exp: iat + LIFE_SECONDS };
  const signed = `${encode({ alg: 'ES256', kid: keyId, typ: 'JWT' })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
};

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
