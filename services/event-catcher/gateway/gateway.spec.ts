import { hashMessage, SigningKey, verifyMessage, type Wallet } from 'ethers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { appStream } from '../../../schemas/events/account/app-events.ts';
import { identityStream } from '../../../schemas/events/account/identity-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { RegisteredContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { streamAccessText } from '../../../schemas/http/event-catcher/gateway-routes.ts';
import { walletIdentityId } from '../../../shared/chain/identifiers/wallet-identity.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { appsModel } from '../../../shared/read-models/account/apps.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { codeOf, problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { projectStored } from '../../../shared/testing/project.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { announcingNodes, NODE } from '../testing/routes/announced-nodes.ts';
import { registration } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const OTHER = `0x${'2'.repeat(40)}`;

/** The answer of a node to an admitted client. */
interface LetIn {
  success: true;
  connectionToken: string;
  expiresAt: string;
}

let catcher: CatcherRoutes;
let appKey: Wallet;
let wallet: Wallet;
let announce: ReturnType<typeof announcingNodes>;
/** A gateway that knows one node, one app and one user with a wallet. */
const start = async (environment?: Record<string, string>) => {
  catcher = await startCatcherRoutes(environment);
  [appKey, wallet, announce] = [randomWallet(), randomWallet(), announcingNodes(catcher.foundation)];
  const registered = { ...eventExamples.AppRegistered, appId: 'app_1', signer: appKey.address };
  const { eventStore } = catcher.foundation;
  await eventStore.append(appStream('app_1'), -1, [anEvent({ type: 'AppRegistered', data: registered })]);
  await link(wallet, 'usr_1');
  await projectStored(catcher.foundation, [appsModel]);
  await announce('one');
};
beforeEach(() => start());
afterEach(() => catcher.service.close());

const link = async ({ address }: Wallet, userId: string) => {
  const identityId = walletIdentityId(address);
  const data = { ...eventExamples.IdentityClaimed, identityId, userId };
  await catcher.foundation.eventStore.append(identityStream(identityId), -1, [
    anEvent({ type: 'IdentityClaimed', data }),
  ]);
};

/** Appends an event about a key of the app, and projects it. */
const appendOfApp = async (
  type: 'AppServerKeyCreated' | 'AppServerKeyRevoked' | 'AppKeyRotated',
  { address: signer }: Wallet,
  revision = 0,
) => {
  const event = anEvent({ type, data: { appId: 'app_1', signer } });
  await catcher.foundation.eventStore.append(appStream('app_1'), revision, [event]);
  await projectStored(catcher.foundation, [appsModel]);
};
const claimOf = async (id: string) => (await catcher.foundation.eventStore.read(`watch-${id}`))[0];
const now = () => toIso(catcher.clock.now());
const sign = (signer: Wallet, { node = NODE, timestamp = now() }: { node?: string; timestamp?: string } = {}) => ({
  node,
  timestamp,
  signature: signer.signMessageSync(streamAccessText({ node, timestamp })),
});
/** Another signature of the same text by the same key, with another nonce than RFC 6979 gives. */
const signAnew = ({ privateKey }: Wallet, text: string): string => {
  const nonce = 7n;
  const point = new SigningKey(`0x${nonce.toString(16).padStart(64, '0')}`).publicKey;
  const [r, y] = [BigInt(`0x${point.slice(4, 68)}`), BigInt(`0x${point.slice(68)}`)];
  let inverse = 1n;
  for (let bits = ORDER - 2n, power = nonce; bits > 0n; bits >>= 1n, power = (power * power) % ORDER)
    if (bits & 1n) inverse = (inverse * power) % ORDER;
  const s = (inverse * (BigInt(hashMessage(text)) + r * BigInt(privateKey))) % ORDER;
  const isHigh = s > ORDER / 2n;
  const v = (y & 1n) === (isHigh ? 1n : 0n) ? '1b' : '1c';
  const word = (value: bigint) => value.toString(16).padStart(64, '0');
  return `0x${word(r)}${word(isHigh ? ORDER - s : s)}${v}`;
};
const validate = (body: object) => catcher.post('/api/v1/gateway/validate', body, { app: null });
const letIn = async (signer: Wallet, given: { node?: string; timestamp?: string } = {}): Promise<LetIn> => {
  const answer = await validate(sign(signer, given));
  expect(answer.status).toBe(201);
  return (await answer.json()) as LetIn;
};
const codeFor = async (body: object) => {
  const answer = await validate(body);
  if (answer.status === 201) return 'let in';
  const { code, status, success } = await problemOfAnswer(answer);
  expect(success).toBe(status === 401 ? false : undefined);
  return code;
};
const register = (token: string, changes: object = {}, headers: Record<string, string> = {}) =>
  catcher.post('/api/v1/contracts', registration(changes), {
    headers: { authorization: `Bearer ${token}`, ...headers },
    app: null,
  });
/** Registers the event, which must succeed, and returns the id of the watch. */
const registeredWith = async (token: string): Promise<string> => {
  const answer = await register(token);
  expect(answer.status).toBe(201);
  return ((await answer.json()) as RegisteredContract).id;
};
const withToken = (token: string, method: string, path: string) =>
  catcher.ask(`/api/v1/contracts/${path}`, { method, app: null, headers: { authorization: `Bearer ${token}` } });
const storedTypes = async () =>
  (await catcher.foundation.eventStore.readAll(0, undefined, 1_000)).events.map(({ type }) => type);

describe('a connection token', () => {
  it('is given for the signature of an app’s signing key, and claims for whoever has that key', async () => {
    const { success, connectionToken, expiresAt } = await letIn(appKey);
    expect({ success, expiresAt }).toEqual({ success: true, expiresAt: toIso(catcher.clock.now() + 600_000) });
    const id = await registeredWith(connectionToken);
    expect(await claimOf(id)).toMatchObject({
      data: { appId: 'app_1', userId: 'app_1' },
      metadata: { actor: { type: 'app', id: 'app_1' }, app: 'app_1' },
    });
    const asUser = await catcher.ask(`/api/v1/contracts/${id}`, { method: 'DELETE', app: 'app_1' });
    expect(await codeOf(asUser)).toBe('watch_not_found');
    expect((await withToken(connectionToken, 'DELETE', id)).status).toBe(204);
  });

  it('is never that of a user for a key of an app, though the user has linked it as a wallet', async () => {
    await link(appKey, 'usr_2');
    const id = await registeredWith((await letIn(appKey)).connectionToken);
    expect(await claimOf(id)).toMatchObject({
      data: { appId: 'app_1', userId: 'app_1' },
      metadata: { actor: { type: 'app' } },
    });
    const revoked = anEvent({ type: 'AppRevoked', data: { appId: 'app_1' } });
    await catcher.foundation.eventStore.append(appStream('app_1'), 0, [revoked]);
    catcher.clock.time += 1_000;
    expect(await codeFor(sign(appKey))).toBe('app_signature_invalid');
  });

  it('speaks for the app itself where its server key signed, as an access token does, and ends with that key', async () => {
    const server = randomWallet();
    await appendOfApp('AppServerKeyCreated', server);
    const { connectionToken } = await letIn(server);
    const id = await registeredWith(connectionToken);
    expect(await claimOf(id)).toMatchObject({ data: { appId: 'app_1', userId: null } });
    // The signing key is in the browser of every visitor of the app.
    const ofVisitor = (await letIn(appKey)).connectionToken;
    expect(await codeOf(withToken(ofVisitor, 'POST', `${id}/pause`))).toBe('forbidden');
    expect(await codeOf(withToken(ofVisitor, 'DELETE', id))).toBe('watch_not_found');
    expect((await register(ofVisitor)).status).toBe(200);
    expect((await withToken(connectionToken, 'POST', `${id}/pause`)).status).toBe(200);
    await projectStored(catcher.foundation);
    const own = { app: 'app_1', user: 'app_1', claims: { sid: undefined, amr: ['app'], server_key: server.address } };
    expect((await catcher.ask('/api/v1/contracts', own)).status).toBe(200);
    await appendOfApp('AppServerKeyRevoked', server, 1);
    catcher.clock.time += 1_000;
    expect(await codeOf(register(connectionToken))).toBe('token_invalid');
    expect(await codeOf(catcher.ask('/api/v1/contracts', own))).toBe('token_invalid');
    expect(await codeFor(sign(server))).toBe('app_signature_invalid');
  });

  it('uses up nothing of what the app itself may do, where anybody with its signing key has it', async () => {
    const server = randomWallet();
    const limits = { register: { points: 2, seconds: 600 }, storedBytes: { points: 4_000, seconds: 600 } };
    await catcher.service.close();
    await start({ RATE_LIMITS: JSON.stringify(limits) });
    await appendOfApp('AppServerKeyCreated', server);
    const [ofVisitor, ofServer] = [await letIn(appKey), await letIn(server)];
    const body = { rubbish: 'x'.repeat(4_000) };
    for (let time = 0; time < 3; time += 1) expect((await register(ofVisitor.connectionToken, body)).status).toBe(429);
    expect((await register(ofServer.connectionToken)).status).toBe(201);
  });

  it('is given for the signature of a wallet, and claims for its user, beside what that user claims in an app', async () => {
    const { connectionToken } = await letIn(wallet);
    const id = await registeredWith(connectionToken);
    expect(await claimOf(id)).toMatchObject({
      data: { appId: 'usr_1', userId: 'usr_1' },
      metadata: { actor: { type: 'user', id: 'usr_1' } },
    });
    const drop = () => catcher.ask(`/api/v1/contracts/${id}`, { method: 'DELETE', app: 'app_7', user: 'usr_1' });
    expect(await codeOf(drop())).toBe('watch_not_found');
    expect((await withToken(connectionToken, 'POST', `${id}/pause`)).status).toBe(200);
    await catcher.register({}, 'app_7', 'usr_1');
    expect(await codeOf(withToken(connectionToken, 'POST', `${id}/pause`))).toBe('forbidden');
    expect((await withToken(connectionToken, 'DELETE', id)).status).toBe(204);
    expect((await drop()).status).toBe(204);
  });

  it('lists and queries', async () => {
    const { connectionToken } = await letIn(wallet);
    const { id, chainId, contractAddress } = (await (await register(connectionToken)).json()) as RegisteredContract;
    await catcher.documents.project();
    const query = `chainId=${String(chainId)}&contractAddress=${contractAddress}`;
    for (const path of [`contracts/${id}`, `contracts?${query}`, `events?${query}`]) {
      const headers = { authorization: `Bearer ${connectionToken}` };
      expect((await catcher.ask(`/api/v1/${path}`, { app: null, headers })).status).toBe(200);
    }
  });

  it('is given to both keys of a rotation', async () => {
    const newKey = randomWallet();
    await appendOfApp('AppKeyRotated', newKey);
    await letIn(newKey);
    await letIn(appKey);
  });

  it('repeats the first answer for an Idempotency-Key of its holder, whichever token comes with it', async () => {
    const headers = { 'idempotency-key': 'once' };
    const once = async (signer: Wallet) => {
      catcher.clock.time += 1;
      return register((await letIn(signer)).connectionToken, {}, headers);
    };
    const first = await once(appKey);
    const again = await once(appKey);
    expect([first.status, again.status, await again.text()]).toEqual([201, 201, await first.text()]);
    expect((await once(wallet)).status).toBe(200);
  });

  it('is refused once it has expired, at another node’s domain, and changed', async () => {
    const { connectionToken } = await letIn(appKey);
    const codeWith = (token: string) => codeOf(register(token));
    expect(await codeWith(`${connectionToken.slice(0, -1)}${connectionToken.endsWith('A') ? 'B' : 'A'}`)).toBe(
      'token_invalid',
    );
    await announce('two', { address: OTHER, domain: 'http://elsewhere.test' });
    catcher.clock.time += 5_000;
    const elsewhere = await letIn(appKey, { node: OTHER });
    expect(await codeWith(elsewhere.connectionToken)).toBe('token_invalid');
    catcher.clock.time += 600_000;
    expect(await codeWith(connectionToken)).toBe('token_expired');
  });

  it('is void when its app was revoked or its wallet is the user’s no more', async () => {
    const [ofApp, ofUser] = [await letIn(appKey), await letIn(wallet)];
    const { eventStore } = catcher.foundation;
    await eventStore.append(appStream('app_1'), 0, [anEvent({ type: 'AppRevoked', data: { appId: 'app_1' } })]);
    const identityId = walletIdentityId(wallet.address);
    const released = anEvent({ type: 'IdentityReleased', data: { identityId, userId: 'usr_1' } });
    await eventStore.append(identityStream(identityId), 0, [released]);
    catcher.clock.time += 1_000;
    expect(await codeOf(register(ofApp.connectionToken))).toBe('app_revoked');
    expect(await codeOf(register(ofUser.connectionToken))).toBe('token_invalid');
    // The end of the app is not projected here, so the signer is looked up in the stored events.
    catcher.foundation.readStore.position = () => Promise.resolve(Infinity);
    for (const signer of [appKey, wallet]) expect(await codeFor(sign(signer))).toBe('app_signature_invalid');
    const other = anEvent({
      type: 'IdentityClaimed',
      data: { ...eventExamples.IdentityClaimed, identityId, userId: 'usr_2' },
    });
    await eventStore.append(identityStream(identityId), 1, [other]);
    expect(await codeOf(register(ofUser.connectionToken))).toBe('token_invalid');
  });
});

describe('a signature', () => {
  it('is accepted once, in whatever form it comes again', async () => {
    const signed = sign(appKey);
    expect(await codeFor(signed)).toBe('let in');
    expect(await codeFor(signed)).toBe('request_replayed');
    const { signature } = signed;
    const s = ORDER - BigInt(`0x${signature.slice(66, 130)}`);
    const turned = s.toString(16).padStart(64, '0') + (signature.endsWith('1b') ? '1c' : '1b');
    const short = signature.slice(0, -2) + (signature.endsWith('1b') ? '00' : '01');
    for (const [again, code] of [
      [signature.toUpperCase().replace('0X', '0x'), 'request_replayed'],
      [short, 'request_replayed'],
      [signature.slice(0, 66) + turned, 'app_signature_invalid'],
    ] as const)
      expect(await codeFor({ ...signed, signature: again })).toBe(code);
    const anew = signAnew(appKey, streamAccessText(signed));
    expect([anew === signature, verifyMessage(streamAccessText(signed), anew)]).toEqual([false, appKey.address]);
    expect(await codeFor({ ...signed, signature: anew })).toBe('request_replayed');
    expect(await codeFor(sign(wallet))).toBe('let in');
    catcher.clock.time += 1;
    expect(await codeFor(sign(appKey))).toBe('let in');
  });

  it('is accepted at each of two nodes that it was given for, at the same time', async () => {
    await announce('two', { address: OTHER });
    const timestamp = now();
    for (const node of [NODE, OTHER]) expect(await codeFor(sign(appKey, { node, timestamp }))).toBe('let in');
  });

  it('that was used is refused with the position of whoever is known, and forgotten after 25 h', async () => {
    const signed = sign(appKey);
    const nobody = { ...signed, signature: `0x${'1'.repeat(130)}` };
    const answers = [await validate(signed), await validate(signed), await validate(nobody)];
    expect(answers.map(({ status, headers }) => [status, headers.has('x-position')])).toEqual([
      [201, true],
      [401, true],
      [401, false],
    ]);
    const [used] = (await catcher.foundation.eventStore.readAll(0, { types: ['SignatureUsed'] }, 10)).events;
    catcher.clock.time += 25 * 3_600_000 + 1;
    expect(await catcher.foundation.eventStore.read(used?.stream ?? '')).toEqual([]);
  });

  it('is accepted once of many requests at the same time', async () => {
    const signed = sign(wallet);
    const codes = await Promise.all(Array.from({ length: 20 }, () => codeFor(signed)));
    expect(codes.filter((code) => code === 'let in')).toHaveLength(1);
    expect(codes.filter((code) => code === 'request_replayed')).toHaveLength(19);
  });

  it('is accepted within a minute of now, in UTC', async () => {
    const at = (timestamp: string) => codeFor(sign(appKey, { timestamp }));
    const offset = (ms: number) => toIso(catcher.clock.now() + ms);
    for (const ms of [-60_000, 60_000]) expect(await at(offset(ms))).toBe('let in');
    for (const ms of [-60_001, 60_001, -86_400_000]) expect(await at(offset(ms))).toBe('timestamp_out_of_window');
    const late = await problemOfAnswer(await validate(sign(appKey, { timestamp: offset(-60_001) })));
    expect(late.serverTime).toBe(catcher.clock.now());
    const seconds = now().slice(0, 19);
    for (const end of ['Z', '+00:00', '-00:00', '.123456789Z']) expect(await at(seconds + end)).toBe('let in');
    for (const wrong of [`${seconds}+01:00`, seconds, `${seconds.replace('T', ' ')}Z`, String(catcher.clock.now())])
      expect(await at(wrong)).toBe('validation_failed');
  });

  it('of a stranger, or over anything else, is refused and leaves nothing behind', async () => {
    const before = await storedTypes();
    const signed = sign(appKey);
    expect(await codeFor(sign(randomWallet()))).toBe('app_signature_invalid');
    await announce('two', { address: OTHER });
    catcher.clock.time += 5_000;
    expect(await codeFor({ ...signed, node: OTHER })).toBe('app_signature_invalid');
    expect(await codeFor({ ...signed, timestamp: now() })).toBe('app_signature_invalid');
    expect(await codeFor({ ...signed, signature: `0x${'1'.repeat(130)}` })).toBe('app_signature_invalid');
    expect(await codeFor({ ...signed, signature: '0x12' })).toBe('signature_malformed');
    expect(await codeFor(sign(appKey, { node: `0x${'9'.repeat(40)}` }))).toBe('app_signature_invalid');
    expect(await storedTypes()).toEqual(before);
  });

  it('leaves behind that it was used, by whom', async () => {
    await letIn(wallet);
    const { events } = await catcher.foundation.eventStore.readAll(0, { types: ['SignatureUsed'] }, 10);
    expect(events).toMatchObject([{ data: { appId: 'usr_1' }, metadata: { actor: { type: 'user', id: 'usr_1' } } }]);
  });
});
