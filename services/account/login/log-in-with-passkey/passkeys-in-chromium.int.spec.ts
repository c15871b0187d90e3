import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Problem } from '../../../../schemas/http/problem.ts';
import type { Session } from '../../../../schemas/http/account/session.ts';
import { projectStored } from '../../../../shared/testing/project.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import type { RegisteredApp } from '../../apps/register-app/register-app.handler.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { ChromiumPage, hasChromium } from '../../../../shared/testing/processes/chromium.ts';

const folder = temporaryFolder();
const AUTHENTICATOR = {
  ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, automaticPresenceSimulation: true },
  ...{ hasUserVerification: true, isUserVerified: true },
};

/** As a page of an app does it: it has the browser's own JSON forms, and nothing of ours. */
const PAGE = `<!doctype html><title>Shop</title><script>
const post = async (url, headers, body) => {
  const more = body === undefined ? {} : { body: JSON.stringify(body) };
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers: { ...headers, ...type }, ...more });
  return { status: answer.status, body: await answer.json() };
};
const create = async (options) =>
  (await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })).toJSON();
const get = async (options) =>
  (await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })).toJSON();
</script>`;

const describeInChromium = hasChromium ? describe : describe.skip;
if (!hasChromium)
  process.stdout.write('passkeys in Chromium: skipped, there is no /usr/bin/chromium and CHROMIUM names none\n');

describeInChromium('a passkey in Chromium', () => {
  const site = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(PAGE);
  });
  let account: AccountUnderTest;
  let app: RegisteredApp;
  let origin: string;
  let page: ChromiumPage;
  let authenticatorId: string;

  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
    site.listen(0, 'localhost');
    await once(site, 'listening');
    origin = `http://localhost:${String((site.address() as AddressInfo).port)}`;
    app = await account.register({ origins: [origin] });
    await projectStored(account.foundation);
    page = await ChromiumPage.open(join(folder, 'chromium'));
    await page.send('WebAuthn.enable');
    authenticatorId = await newAuthenticator();
    await page.send('Page.enable');
    await page.send('Page.navigate', { url: origin });
    await eventually(() => page.evaluate("typeof post === 'function'"), 10_000, 'the page must load');
  });
  afterAll(async () => {
    await page.close();
    site.close();
    await account.service.close();
  });

  const newAuthenticator = async (): Promise<string> => {
    const added = await page.send('WebAuthn.addVirtualAuthenticator', { options: AUTHENTICATOR });
    return (added as { authenticatorId: string }).authenticatorId;
  };
  interface Answer {
    status: number;
    body: unknown;
  }
  /** A browser gives a request its origin itself. */
  const headersOf = (session?: Session): Record<string, string> => {
    const { origin: _, ...headers } = account.appHeaders({ origin }, app);
    return { ...headers, ...(session && { authorization: `Bearer ${session.accessToken}` }) };
  };
  const post = async (path: string, body?: object, session?: Session): Promise<Answer> => {
    const asked = [account.service.url + path, headersOf(session), body].map((value) => JSON.stringify(value));
    return (await page.evaluate(`post(${asked.join(', ')})`)) as Answer;
  };
  const begun = async (path: string, session?: Session) => {
    const { status, body } = await post(path, undefined, session);
    expect(status).toBe(201);
    return body as { state: string; options: object };
  };
  const made = async (session?: Session) => {
    const { state, options } = await begun('/auth/passkey/register-options', session);
    return { state, credential: await page.evaluate(`create(${JSON.stringify(options)})`) };
  };
  const signed = async () => {
    const { state, options } = await begun('/auth/passkey/options');
    return { state, credential: await page.evaluate(`get(${JSON.stringify(options)})`) };
  };
  const sessionOf = ({ status, body }: Answer): Session => {
    expect([status, body]).toEqual([201, expect.objectContaining({ userId: expect.any(String) })]);
    return body as Session;
  };
  const codeOf = ({ body }: Answer) => (body as Problem).code;

  it('makes a user, logs in without a name, and is not made twice by one authenticator', async () => {
    const session = sessionOf(await post('/auth/passkey/register', await made()));
    expect(decodeJwt(session.accessToken)['amr']).toEqual(['passkey']);
    const login = await signed();
    const again = sessionOf(await post('/auth/passkey', login));
    expect(again.userId).toBe(session.userId);
    expect(codeOf(await post('/auth/passkey', login))).toBe('state_unknown');
    await expect(made(again)).rejects.toThrow('InvalidStateError');
  });

  it('that is a copy with an older counter is refused', async () => {
    const { credentials } = (await page.send('WebAuthn.getCredentials', { authenticatorId })) as {
      credentials: { credentialId: string; signCount: number }[];
    };
    const [credential] = credentials;
    expect(credential?.signCount).toBeGreaterThan(1);
    await page.send('WebAuthn.clearCredentials', { authenticatorId });
    await page.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credential, signCount: 0 } });
    expect(codeOf(await post('/auth/passkey', await signed()))).toBe('passkey_invalid');
  });

  it('is linked to the user of a wallet, on another authenticator', async () => {
    await page.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
    authenticatorId = await newAuthenticator();
    const session = await account.logIn(account.newWallet());
    const linked = sessionOf(await post('/auth/passkey/register', await made(session), session));
    expect(linked.userId).toBe(session.userId);
    expect(sessionOf(await post('/auth/passkey', await signed())).userId).toBe(session.userId);
  });
});
