import { expect, it } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose';
import type { Session } from '../../../schemas/http/account/account-routes.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { rotateSigningKeys, signingKeyStore } from '../key-administration.ts';
import { startAccountUnderTest } from '../testing/account-under-test.ethers.ts';
import { bearer, sessionOf } from '../testing/sessions.ts';

const folder = temporaryFolder();
const SECOND = 1_000;
/** As other services: they fetch keys that are a minute old again. */
const VERIFIER_KEEPS_MS = 60 * SECOND;

it('a rotation under load refuses no login, refresh or request, and no token at a verifier that keeps keys', async () => {
  await using account = await startAccountUnderTest(folder);
  const { clock, foundation, service } = account;
  const publishedKeys = async () => (await (await account.ask('/.well-known/jwks.json')).json()) as JSONWebKeySet;
  /** Without the key that signs exports of histories, which is not rotated. */
  const tokenKids = async () => {
    const kids = (await publishedKeys()).keys.map(({ kid }) => kid);
    return kids.filter((kid) => !kid?.startsWith('audit-'));
  };
  let fetched = { keys: createLocalJWKSet(await publishedKeys()), at: clock.time };
  const verify = async ({ accessToken }: Session) => {
    if (clock.time - fetched.at >= VERIFIER_KEEPS_MS) {
      fetched = { keys: createLocalJWKSet(await publishedKeys()), at: clock.time };
    }
    await jwtVerify(accessToken, fetched.keys, { issuer: service.url, currentDate: new Date(clock.time) });
  };
  const kidOf = ({ accessToken }: Session) => decodeProtectedHeader(accessToken).kid;
  const use = async (session: Session) => {
    const headers = bearer(session);
    const answer = await account.ask(`/user/${session.userId}/profile`, { method: 'POST', headers, body: {} });
    expect(answer.status).toBe(200);
  };
  const refresh = async ({ refreshToken }: Session) => sessionOf(await account.refresh(refreshToken));
  const wallet = account.newWallet();
  const old = await account.logIn(wallet);
  let busy = old;
  const rotated = await rotateSigningKeys(signingKeyStore(foundation), clock);
  const kids = new Set<string | undefined>();
  for (let seconds = 0; seconds <= 240; seconds += 10) {
    const [session, next] = await Promise.all([account.logIn(wallet), refresh(busy)]);
    busy = next;
    for (const one of [old, session, next]) await Promise.all([use(one), verify(one)]);
    kids.add(kidOf(session));
    clock.time += 10 * SECOND;
  }
  expect([...kids]).toEqual([kidOf(old), rotated.kid]);
  expect(await tokenKids()).toEqual([kidOf(old), rotated.kid]);
  clock.time += 6 * 86_400_000;
  expect(kidOf(await refresh(busy))).toBe(rotated.kid);
  clock.time += 2 * 86_400_000;
  expect(await tokenKids()).toEqual([rotated.kid]);
});
