import { rateLimits } from '../../../schemas/http/rate-limits.ts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Session } from '../../../schemas/http/account/account-routes.ts';
import { problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import {
  chainsOf,
  startAccountUnderTest,
  type AccountUnderTest,
} from '../../account/testing/account-under-test.ethers.ts';

const folder = temporaryFolder();
const MEBIBYTE = 1_048_576;
const NOBODY = 'http://127.0.0.1:9';
const CHAINS = chainsOf([2484, NOBODY], [5, NOBODY]);

let account: AccountUnderTest;
let token: string;
beforeAll(async () => {
  account = await startAccountUnderTest(folder, { CHAINS });
  token = (await account.logIn(account.newWallet())).accessToken;
});
afterAll(() => account.service.close());

const post = async (text: string | Buffer, query = '', headers: Record<string, string> = {}) => {
  const answer = await fetch(`${account.service.url}/rpc${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
    body: text,
  });
  const answered = await answer.text();
  return { status: answer.status, headers: answer.headers, text: answered, body: JSON.parse(answered) as unknown };
};
const ask = (body: unknown, query = '') => post(JSON.stringify(body), query);
const request = (changes: object = {}) => ({
  ...{ jsonrpc: '2.0', chainID: 2484, apiKey: account.app.apiKey, id: 1, method: 'eth_chainId', params: [] },
  ...changes,
});

describe('a body of /rpc', () => {
  it('is answered with its id, whatever that is', async () => {
    for (const id of [1, 'a', null, '', 0, 1.5, { a: [1] }, [2], true]) {
      const { status, body } = await ask(request({ id }));
      expect({ status, body }).toEqual({ status: 200, body: { jsonrpc: '2.0', id, result: '0x9b4' } });
    }
    for (const id of ['12345678901234567890', '-0', '1.0', '1e3', '[{"id":1.50}]', '{"id":12345678901234567890}']) {
      const text = JSON.stringify(request({ id: 0 })).replace('"id":0', `"id": ${id}`);
      expect((await post(text)).text).toContain(`"id":${id},`);
      expect((await post(`[${text}]`)).text).toContain(`"id":${id},`);
    }
    expect((await ask(request({ id: undefined }))).body).toEqual({ jsonrpc: '2.0', id: null, result: '0x9b4' });
  });

  it('has members that may be left out', async () => {
    const { apiKey } = account.app;
    expect((await ask({ method: 'eth_chainId', apiKey })).body).toMatchObject({ id: null, result: '0x9b4' });
  });

  it('may have the chain and the key in the query, and its own win', async () => {
    const query = `?chainID=5&apiKey=${account.app.apiKey}`;
    expect((await ask({ id: 7, method: 'eth_chainId' }, query)).body).toMatchObject({ id: 7, result: '0x5' });
    expect((await ask(request(), '?chainID=5&apiKey=none')).body).toMatchObject({ result: '0x9b4' });
    expect((await ask(request({ chainID: undefined }), '?chainID=0x5')).status).toBe(400);
  });

  it.each([
    ['', -32700],
    ['{', -32700],
    ['{"jsonrpc":"2.0"', -32700],
    [Buffer.from([0x22, 0xff, 0x22]), -32700],
    ['1', -32600],
    ['"eth_chainId"', -32600],
    ['null', -32600],
    ['[]', -32600],
    [`[${Array.from({ length: 51 }, () => '{}').join(',')}]`, -32600],
    [`${'['.repeat(100)}${']'.repeat(100)}`, -32600],
  ])('that is no request is answered 400 with JSON-RPC: %s', async (text, code) => {
    const { status, headers, body } = await post(text);
    expect({ status, body }).toMatchObject({ status: 400, body: { jsonrpc: '2.0', id: null, error: { code } } });
    expect(headers.get('content-type')).toMatch(/^application\/json/);
  });

  it.each([
    [{ jsonrpc: '1.0' }],
    [{ jsonrpc: 2 }],
    [{ method: undefined }],
    [{ method: 1 }],
    [{ params: {} }],
    [{ params: 'x' }],
    [{ chainID: '2484' }],
    [{ chainID: 0 }],
    [{ chainID: 1.5 }],
    [{ chainID: null }],
    [{ apiKey: undefined }],
    [{ apiKey: 1 }],
    [{ apiKey: '' }],
  ])('with a member that is not valid is answered 400: %j', async (changes) => {
    const { status, body } = await ask(request(changes));
    expect({ status, body }).toMatchObject({ status: 400, body: { jsonrpc: '2.0', id: 1, error: { code: -32600 } } });
  });

  it('that is an array is answered by an array, with errors in their places', async () => {
    const { status, body } = await ask([
      request({ id: 'a' }),
      1,
      request({ id: 'b', params: {} }),
      request({ method: 'x' }),
    ]);
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { id: 'a', result: '0x9b4' },
      { id: null, error: { code: -32600 } },
      { id: 'b', error: { code: -32600 } },
      { id: 1, error: { code: -32601 } },
    ]);
    expect(await ask([1, {}])).toMatchObject({
      status: 400,
      body: [{ error: { code: -32600 } }, { error: { code: -32600 } }],
    });
  });

  it('is at most 1 MiB, and at most 256 KiB on other routes', async () => {
    const padded = (bytes: number) => JSON.stringify(request({ more: 'x'.repeat(bytes) }));
    const rest = padded(0).length;
    expect((await post(padded(MEBIBYTE - rest))).status).toBe(200);
    expect(await post(padded(MEBIBYTE - rest + 1))).toMatchObject({ status: 413, body: { code: 'body_too_large' } });
    const elsewhere = await account.ask('/auth/refresh', {
      method: 'POST',
      body: { refreshToken: 'x'.repeat(300_000) },
    });
    expect(elsewhere.status).toBe(413);
  });

  it('must be JSON by its type', async () => {
    const answer = await post('{}', '', { 'content-type': 'text/plain' });
    expect(answer).toMatchObject({ status: 415, body: { code: 'content_type_not_json' } });
  });
});

describe('whoever asks /rpc', () => {
  it('needs a token', async () => {
    expect(await post('{', '', { authorization: '' })).toMatchObject({ status: 401, body: { code: 'token_missing' } });
  });

  it('needs the key of a live app, for every request of an array', async () => {
    const unknown = request({ apiKey: `ak_${'0'.repeat(32)}` });
    expect(await ask([request(), unknown])).toMatchObject({ status: 401, body: { code: 'api_key_unknown' } });
    const revoked = await account.register({ name: 'Revoked' });
    await account.apps.change(revoked.id, { revoke: true });
    expect(await ask(request({ apiKey: revoked.apiKey }))).toMatchObject({
      status: 403,
      body: { code: 'app_revoked' },
    });
  });

  it('may call 50 times a second, and each call of an array counts', async () => {
    expect(rateLimits.rpc).toEqual({ points: 50, seconds: 1 });
    // The same for an hour: however busy the machine is, both requests come within it.
    const RATE_LIMITS = JSON.stringify({ rpc: { points: 50, seconds: 3_600 } });
    await using limited = await startAccountUnderTest(folder, { CHAINS, RATE_LIMITS });
    const { accessToken } = await limited.logIn(limited.newWallet());
    const headers = { authorization: `Bearer ${accessToken}` };
    const one = { method: 'eth_chainId', apiKey: limited.app.apiKey };
    const call = (calls: number) =>
      limited.ask('/rpc', { method: 'POST', headers, body: Array.from({ length: calls }, () => one) });
    const first = await call(49);
    expect([first.status, first.headers.get('ratelimit')]).toEqual([200, expect.stringMatching(/^"rpc";r=1;/)]);
    const second = await call(2);
    expect([second.status, await second.json()]).toMatchObject([429, { code: 'rate_limited' }]);
  });

  it('is counted by the user first, who takes nothing of the app from others once refused, then by the app', async () => {
    const RATE_LIMITS = JSON.stringify({ rpc: { points: 50, seconds: 3_600 }, rpcApp: { points: 80, seconds: 3_600 } });
    await using limited = await startAccountUnderTest(folder, { CHAINS, RATE_LIMITS });
    const one = { method: 'eth_chainId', apiKey: limited.app.apiKey };
    const caller = async () => {
      const { accessToken } = await limited.logIn(limited.newWallet());
      const headers = { authorization: `Bearer ${accessToken}` };
      return (calls: number) =>
        limited.ask('/rpc', { method: 'POST', headers, body: Array.from({ length: calls }, () => one) });
    };
    const [greedy, other] = [await caller(), await caller()];
    const statuses = [];
    for (let times = 0; times < 5; times += 1) statuses.push((await greedy(50)).status);
    expect(statuses).toEqual([200, 429, 429, 429, 429]);
    expect((await other(29)).status).toBe(200);
    const last = await other(1);
    expect([last.status, last.headers.get('ratelimit')]).toEqual([200, expect.stringMatching(/^"rpc";r=20;/)]);
    const refused = await other(1);
    expect([refused.status, refused.headers.get('ratelimit')]).toEqual([429, expect.stringMatching(/^"rpcApp";r=0;/)]);
  });
});

describe('a method of /rpc', () => {
  it('says who we are and what we serve', async () => {
    expect((await ask(request({ method: 'web3_clientVersion' }))).body).toMatchObject({
      result: expect.stringMatching(/^Annals\/\d/),
    });
    expect((await ask(request({ method: 'eth_supportedEntryPoints' }))).body).toMatchObject({
      result: ['0x0000000071727De22E5E9d8BAf0edAc6f37da032'],
    });
  });

  it.each(['eth_blockNumber', 'eth_sendTransaction', 'debug_bundler_clearState', '__proto__', 'toString', ''])(
    'that is not one of ours is not forwarded: %s',
    async (method) => {
      expect(await ask(request({ method }))).toMatchObject({ status: 200, body: { error: { code: -32601 } } });
    },
  );

  it('of debug_bundler_* says with which setting there would be one', async () => {
    const { body } = await ask(request({ method: 'debug_bundler_dumpMempool' }));
    const message = 'there is no method debug_bundler_dumpMempool without RPC_DEBUG=on';
    expect(body).toMatchObject({ error: { code: -32601, message } });
  });

  const operation = { sender: `0x${'1'.repeat(40)}`, nonce: '0x0', callData: '0x' };
  const entryPoint = '0x0000000071727De22E5E9d8BAf0edAc6f37da032';
  const estimate = 'eth_estimateUserOperationGas';
  it.each([
    [{ chainID: 6 }],
    [{ params: [1] }],
    [{ method: estimate }],
    [{ method: estimate, params: [operation] }],
    [{ method: estimate, params: [operation, `0x${'2'.repeat(40)}`] }],
    [{ method: estimate, params: [{ ...operation, nonce: '1' }, entryPoint] }],
    [{ method: estimate, params: [{ ...operation, callData: '0x0' }, entryPoint] }],
    [{ method: estimate, params: [{ ...operation, sender: '0x' }, entryPoint] }],
    [
      {
        method: estimate,
        params: [{ ...operation, sender: '0x52908400098527886E0F7030069857D2E4169Ee7' }, entryPoint],
      },
    ],
    [{ method: estimate, params: [operation, entryPoint, { [operation.sender]: { balance: 1 } }] }],
    [{ method: 'eth_getUserOperationReceipt', params: ['0x12'] }],
    [{ method: 'eth_getUserOperationByHash', params: [] }],
    [{ method: 'eth_sendUserOperation', params: [operation, entryPoint] }],
    [{ method: 'pm_getPaymasterData', params: [operation, entryPoint, '0x9b4', {}] }],
    [{ method: 'pm_getPaymasterStubData', params: [operation, entryPoint, '0x6', {}] }],
  ])('with params that do not fit is answered -32602: %j', async (changes) => {
    expect(await ask(request(changes))).toMatchObject({ status: 200, body: { id: 1, error: { code: -32602 } } });
  });

  it('that needs a chain which does not answer says so, and is no error of HTTP', async () => {
    const { status, body } = await ask(request({ method: estimate, params: [operation, entryPoint] }));
    expect({ status, body }).toMatchObject({ status: 200, body: { error: { code: -32603 } } });
  });
});

describe('the bytes that /rpc stores', () => {
  it.each(['eth_sendUserOperation', 'pm_getPaymasterData'])('are bounded for each caller, of %s', async (stores) => {
    const RATE_LIMITS = JSON.stringify({ storedBytes: { points: 5_000, seconds: 86_400 } });
    await using own = await startAccountUnderTest(folder, { CHAINS, RATE_LIMITS });
    const call = async (method: string, { accessToken }: Session) => {
      const asked = {
        jsonrpc: '2.0',
        chainID: 2484,
        apiKey: own.app.apiKey,
        id: 1,
        method,
        params: ['0'.repeat(2_000)],
      };
      return own.ask('/rpc', { method: 'POST', body: asked, headers: { authorization: `Bearer ${accessToken}` } });
    };
    const [sender, other] = [await own.logIn(own.newWallet()), await own.logIn(own.newWallet())];
    for (let times = 0; times < 2; times += 1) expect((await call(stores, sender)).status).toBe(200);
    const refused = await call(stores, sender);
    expect(await problemOfAnswer(refused)).toMatchObject({ code: 'rate_limited', status: 429 });
    expect((await call('eth_chainId', sender)).status).toBe(200);
    expect((await call(stores, other)).status).toBe(200);
  });
});
