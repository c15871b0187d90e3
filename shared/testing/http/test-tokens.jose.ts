import { generateKeyPair, SignJWT, type JWTHeaderParameters, type JWTPayload } from 'jose';
import { TOKEN_AUDIENCE, type TokenIssuer } from '../../auth/access-tokens.jose.ts';

export const TEST_ISSUER = 'http://account.test';

export type TestClaims = JWTPayload;

/** Signs access tokens as the account service does; every claim and header can be changed. */
export const testIssuer = async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const issuer: TokenIssuer = { issuer: () => TEST_ISSUER, key: () => publicKey, hasKeys: () => Promise.resolve(true) };
  const accessToken = ({
    claims = {},
    header = {},
    key = privateKey,
  }: { claims?: TestClaims; header?: Partial<JWTHeaderParameters>; key?: Parameters<SignJWT['sign']>[0] } = {}) => {
    const { app = 'app_1' } = claims;
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({
      iss: TEST_ISSUER,
      aud: TOKEN_AUDIENCE,
      sub: 'usr_1',
      sid: 'ses_1',
      client_id: app,
      app,
      amr: ['wallet'],
      jti: 'tok_1',
      iat: now,
      exp: now + 600,
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header })
      .sign(key);
  };
  return { issuer, accessToken };
};
