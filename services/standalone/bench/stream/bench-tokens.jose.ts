import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { TOKEN_AUDIENCE } from '../../../../shared/auth/access-tokens.jose.ts';

const LIFE_SECONDS = 3_600;

/** Stands in for the account service: publishes its key, and signs a token for each of many users. */
export const benchTokens = async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'bench' }] });
  const server = createServer((_request, response) => response.setHeader('content-type', 'application/json').end(keys));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const tokenOf = (user: number): Promise<string> => {
    const [app, now] = ['app_1', Math.floor(Date.now() / 1_000)];
    return new SignJWT({ client_id: app, app, amr: ['wallet'], sid: `ses_${String(user)}`, jti: `tok_${String(user)}` })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'bench' })
      .setIssuer(url)
      .setAudience(TOKEN_AUDIENCE)
      .setSubject(`usr_${String(user)}`)
      .setIssuedAt(now)
      .setExpirationTime(now + LIFE_SECONDS)
      .sign(privateKey);
  };
  return {
    settings: { ACCOUNT_URL: url, ACCOUNT_JWKS_URL: `${url}/jwks.json` },
    tokensOf: (count: number) => Promise.all(Array.from({ length: count }, (_, user) => tokenOf(user))),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};
