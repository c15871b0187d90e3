import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { codeOf, codeOrStatus, problemOfAnswer } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { ORIGIN, startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';

const folder = temporaryFolder();
const SIGNER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

describe('the headers that authenticate an app', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
  });
  afterAll(() => account.service.close());

  const codeFor = async (headers: Record<string, string>, path = account.challengePath(SIGNER)) =>
    codeOrStatus(await account.ask(path, { headers }));

  it('are accepted from the app that signed them', async () => {
    expect(await codeFor(account.appHeaders())).toBe(200);
    const local = await account.register({ origins: ['http://LOCALHOST:5173/', 'https://Other.example:443'] });
    expect(local.origins).toEqual(['http://localhost:5173', 'https://other.example']);
    expect(await codeFor(account.appHeaders({ origin: 'http://localhost:5173' }, local))).toBe(200);
  });

  it('are all required', async () => {
    for (const name of ['x-api-key', 'origin', 'x-timestamp', 'x-signature']) {
      const { [name]: _, ...rest } = account.appHeaders();
      const problem = await problemOfAnswer(await account.ask(account.challengePath(SIGNER), { headers: rest }));
      expect(problem).toMatchObject({ code: 'validation_failed', errors: [{ path: name }] });
    }
  });

  it('are checked in order: key, app live, origin, timestamp, format of the signature, signature', async () => {
    const old = String(account.clock.now() - 300_001);
    const wrong = {
      'x-api-key': 'ak_unknown',
      origin: 'https://evil.example',
      'x-timestamp': old,
      'x-signature': '0x',
    };
    const right = account.appHeaders();
    expect(await codeFor(wrong)).toBe('api_key_unknown');
    const revoked = await account.register();
    await account.apps.change(revoked.id, { revoke: true });
    expect(await codeFor({ ...wrong, 'x-api-key': revoked.apiKey })).toBe('app_revoked');
    expect(await codeFor({ ...wrong, 'x-api-key': right['x-api-key'] ?? '' })).toBe('origin_not_allowed');
    expect(await codeFor(account.appHeaders({ 'x-timestamp': old, 'x-signature': '0x' }))).toBe(
      'timestamp_out_of_window',
    );
    expect(await codeFor(account.appHeaders({ 'x-signature': '0x' }))).toBe('signature_malformed');
    expect(await codeFor(account.appHeaders({ 'x-signature': `0x${'1'.repeat(130)}` }))).toBe('app_signature_invalid');
  });

  it('need a timestamp that is at most five minutes before or after now', async () => {
    const at = (timestamp: string) => codeFor(account.appHeaders({ 'x-timestamp': timestamp }));
    const now = account.clock.now();
    expect(await at(String(now - 300_000))).toBe(200);
    expect(await at(String(now + 300_000))).toBe(200);
    for (const wrong of [
      String(now + 300_001),
      'now',
      '-1',
      '1e12',
      '0x1',
      '{"$gt":""}',
      new Date(now).toISOString(),
    ]) {
      expect(await at(wrong)).toBe('timestamp_out_of_window');
    }
  });

  it('are told the time here when theirs is too far from it, or is not a number', async () => {
    for (const timestamp of [String(account.clock.now() - 7_200_000), 'now']) {
      const headers = account.appHeaders({ 'x-timestamp': timestamp, 'x-signature': '0x' });
      const problem = await problemOfAnswer(await account.ask(account.challengePath(SIGNER), { headers }));
      expect(problem).toMatchObject({ code: 'timestamp_out_of_window', serverTime: account.clock.now() });
    }
  });

  it('with an origin that the app does not allow are told the command that allows it', async () => {
    const headers = account.appHeaders({ origin: 'https://new.example' });
    const { detail } = await problemOfAnswer(await account.ask(account.challengePath(SIGNER), { headers }));
    expect(detail).toContain(`annals app allow-origin ${account.app.id} https://new.example`);
  });

  it("are refused when another app's key signed them, or another timestamp was signed", async () => {
    const other = await account.register();
    expect(await codeFor({ ...account.appHeaders({}, other), 'x-api-key': account.app.apiKey })).toBe(
      'app_signature_invalid',
    );
    const { 'x-signature': signature = '' } = account.appHeaders({ 'x-timestamp': String(account.clock.now() - 1) });
    expect(await codeFor(account.appHeaders({ 'x-signature': signature }))).toBe('app_signature_invalid');
  });

  it('are refused when the origin differs in scheme, port or case', async () => {
    for (const origin of [
      'http://app.example',
      'https://app.example:8443',
      'https://APP.example',
      'https://a.app.example',
    ]) {
      expect(await codeFor(account.appHeaders({ origin }))).toBe('origin_not_allowed');
    }
  });

  it('of scheme v2 are valid once, for one request, in whatever form the signature is written', async () => {
    const path = account.challengePath(SIGNER);
    const headers = account.appHeadersV2('GET', path, undefined);
    expect(await codeFor(headers, `${path}&chainId=1`)).toBe('app_signature_invalid');
    expect(await codeFor(headers)).toBe(200);
    expect(await codeFor(headers)).toBe('request_replayed');
    const { 'x-signature': signature } = headers;
    const recoveryByte = signature.endsWith('1b') ? '00' : '01';
    expect(await codeFor({ ...headers, 'x-signature': signature.slice(0, -2) + recoveryByte })).toBe(
      'request_replayed',
    );
    expect(await codeFor({ ...headers, 'x-signature': `0x${signature.slice(2).toUpperCase()}` })).toBe(
      'request_replayed',
    );
  });

  it('of scheme v2 are valid once even when they are sent ten times at once', async () => {
    account.clock.time += 1;
    const headers = account.appHeadersV2('GET', account.challengePath(SIGNER), undefined);
    const codes = await Promise.all(Array.from({ length: 10 }, () => codeFor(headers)));
    expect(codes.filter((code) => code === 200)).toHaveLength(1);
    expect(codes.filter((code) => code === 'request_replayed')).toHaveLength(9);
  });

  it('of scheme v2 sign the body', async () => {
    const signer = account.newWallet().address;
    const body = { signer, signature: `0x${'1'.repeat(130)}` };
    const post = async (sent: unknown) => {
      account.clock.time += 1;
      const headers = account.appHeadersV2('POST', '/auth/web3', body);
      return codeOf(account.ask('/auth/web3', { method: 'POST', headers, body: sent }));
    };
    expect(await post({ ...body, signer: signer.toLowerCase() })).toBe('app_signature_invalid');
    expect(await post(body)).toBe('challenge_unknown');
  });

  it('of scheme v1 are refused for an app that requires v2', async () => {
    const strict = await account.register({ scheme: 'v2' });
    expect(await codeFor(account.appHeaders({}, strict))).toBe('app_signature_invalid');
    expect(await codeFor(account.appHeadersV2('GET', account.challengePath(SIGNER), undefined, strict))).toBe(200);
  });

  it('are accepted by two signing keys during a rotation, and after the next one not by the oldest', async () => {
    const app = await account.register();
    const rotate = async () => ({ ...app, signingKey: (await account.apps.rotate(app.id)).newKey });
    const [second, third] = [await rotate(), await rotate()];
    const codes = async () => {
      const signed = [app, second, third].map((by) => codeFor(account.appHeaders({}, by)));
      const whole = [app, second, third].map((by) =>
        codeFor(account.appHeadersV2('GET', account.challengePath(SIGNER), undefined, by)),
      );
      return [await Promise.all(signed), await Promise.all(whole)];
    };
    const expected = ['app_signature_invalid', 200, 200];
    expect(await codes()).toEqual([expected, expected]);
  });

  it('are accepted from an origin that was allowed a second ago', async () => {
    const app = await account.register();
    const headers = () => account.appHeaders({ origin: 'https://new.example' }, app);
    expect(await codeFor(headers())).toBe('origin_not_allowed');
    await account.apps.change(app.id, { allowOrigin: 'https://new.example' });
    account.clock.time += 1_000;
    expect(await codeFor(headers())).toBe(200);
  });

  it('are accepted from a new app at once', async () => {
    const app = await account.register();
    expect(await codeFor(account.appHeaders({ origin: ORIGIN }, app))).toBe(200);
  });
});
