import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { createSiweMessage, parseSiweMessage } from 'viem/siwe';
import type { Session } from '../../../../schemas/http/account/account-routes.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { JsonRpcNode } from '../../../../shared/testing/chain/json-rpc-node.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { codeOf, problemOfAnswer } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../../shared/testing/without-appends-to.ts';
import {
  chainsOf,
  ORIGIN,
  startAccountUnderTest,
  type AccountUnderTest,
} from '../../testing/account-under-test.ethers.ts';
import { sessionOf } from '../../testing/sessions.ts';

const REGISTERED = ['UserRegistered', 'SmartAccountAssigned', 'IdentityLinked', 'UserLoggedIn'];
const folder = temporaryFolder();

describe('logging in with a wallet', () => {
  let account: AccountUnderTest;
  let node: JsonRpcNode;
  beforeAll(async () => {
    node = await JsonRpcNode.start(new MemoryChain(2484));
    account = await startAccountUnderTest(folder, { CHAINS: chainsOf([2484, node.url]) });
  });
  afterAll(async () => {
    await account.service.close();
    await node.stop();
  });

  /** The type of each event of a first login, with the type of the event that caused it. */
  const causesOfLogin = async (wallet: { address: string }) => {
    const id = wallet.address.toLowerCase();
    const eventsOf = (stream: string) => account.foundation.eventStore.read(stream);
    const ofUser = await eventsOf(`user-${id}`);
    const sessionId = ofUser.at(-1)?.data['sessionId'] as string;
    const events = [
      ...(await eventsOf(`challenge-${sha256(`${account.app.id} ${id}`)}`)),
      ...(await eventsOf(`identity-${sha256(id)}`)),
      ...ofUser,
      ...(await eventsOf(`session-${sessionId}`)),
    ];
    const typeOf = new Map(events.map((event) => [event.id, event.type]));
    return events.map(({ type, metadata: { causationId } }) => [type, causationId && typeOf.get(causationId)]);
  };
  const expectedCauses = [
    ['ChallengeIssued', undefined],
    ['ChallengeRedeemed', undefined],
    ['IdentityClaimed', 'ChallengeRedeemed'],
    ['UserRegistered', 'ChallengeRedeemed'],
    ['SmartAccountAssigned', 'ChallengeRedeemed'],
    ['IdentityLinked', 'ChallengeRedeemed'],
    ['UserLoggedIn', 'ChallengeRedeemed'],
    ['SessionStarted', 'UserLoggedIn'],
  ];

  it("begins with an ERC-4361 message for the caller's origin", async () => {
    const wallet = account.newWallet();
    const { message, nonce, expiresAt } = await account.challengeFor(wallet.address.toLowerCase());
    const fields = parseSiweMessage(message);
    expect(fields).toMatchObject({ address: wallet.address, domain: 'app.example', uri: ORIGIN, chainId: 2484, nonce });
    expect(nonce).toMatch(/^[0-9a-z]{26}$/);
    expect(Date.parse(expiresAt) - account.clock.now()).toBe(300_000);
    const { address, domain, uri, chainId } = fields;
    if (!address || !domain || !uri || !chainId) throw new Error('the message lacks a field');
    const theirs = { ...fields, address, domain, uri, chainId, nonce, version: '1' } as const;
    expect(createSiweMessage(theirs)).toBe(message);
  });

  it('answers the five members of a session, with all claims in its tokens', async () => {
    const wallet = account.newWallet();
    const session = await account.logIn(wallet);
    expect(Object.keys(session).sort()).toEqual(
      ['accessToken', 'accessTokenExpire', 'refreshToken', 'refreshTokenExpire', 'userId'].sort(),
    );
    expect(session.userId).toBe(wallet.address.toLowerCase());
    const access = decodeJwt(session.accessToken);
    const text = expect.any(String);
    const seconds = Math.floor(account.clock.now() / 1_000);
    expect(access).toEqual({
      iss: account.service.url,
      aud: text,
      sub: session.userId,
      sid: text,
      client_id: account.app.id,
      app: account.app.id,
      amr: ['wallet'],
      iat: seconds,
      exp: seconds + 600,
      jti: text,
    });
    expect(session.accessTokenExpire).toBe((seconds + 600) * 1_000);
    const refresh = decodeJwt(session.refreshToken);
    expect(refresh).toEqual({
      iss: account.service.url,
      aud: text,
      sub: session.userId,
      sid: access['sid'],
      ctr: 0,
      iat: seconds,
      exp: seconds + 7 * 86_400,
      jti: text,
    });
    expect(session.refreshTokenExpire).toBe((seconds + 7 * 86_400) * 1_000);
    expect(decodeProtectedHeader(session.accessToken)).toMatchObject({ alg: 'ES256', typ: 'at+jwt', kid: text });
    expect(decodeProtectedHeader(session.refreshToken)).toMatchObject({ alg: 'ES256', typ: 'rt+jwt', kid: text });
  });

  it('asks no chain where the key of the signer signed', async () => {
    const before = node.requests;
    await account.logIn(account.newWallet());
    expect(node.requests).toBe(before);
  });

  it('asks the chain of the challenge where it did not, all challenges in one call, and only if the chain is here', async () => {
    const [wallet, other] = [account.newWallet(), account.newWallet()];
    const signature = other.signMessageSync('x');
    const challengeOn = (chainId: number) => account.challengeFor(wallet.address, account.appHeaders(), chainId);
    await Promise.all([challengeOn(2484), challengeOn(2484), challengeOn(2484)]);
    const before = node.asked.filter((method) => method === 'eth_call').length;
    expect(await codeOf(await account.redeem(wallet.address, signature))).toBe('wallet_signature_invalid');
    expect(node.asked.filter((method) => method === 'eth_call')).toHaveLength(before + 1);
    node.respond = (response) => response.destroy();
    const away = await account.redeem(wallet.address, signature);
    node.respond = undefined;
    expect([away.status, await codeOf(away)]).toEqual([503, 'dependency_unavailable']);
    const { message } = await challengeOn(10);
    expect(await codeOf(await account.redeem(wallet.address, signature))).toBe('chain_not_supported');
    expect((await account.redeem(wallet.address, wallet.signMessageSync(message))).status).toBe(201);
  });

  it('registers a wallet once, in whatever case its address is written', async () => {
    const wallet = account.newWallet();
    await account.logIn(wallet);
    await account.logIn({
      address: wallet.address.toLowerCase(),
      signMessageSync: (text) => wallet.signMessageSync(text),
    });
    const id = wallet.address.toLowerCase();
    expect(await account.typesOf(`user-${id}`)).toEqual([...REGISTERED, 'UserLoggedIn']);
    expect(await account.typesOf(`identity-${sha256(id)}`)).toEqual(['IdentityClaimed']);
  });

  it("gives the user another id if a user already has the wallet's address as id", async () => {
    const wallet = account.newWallet();
    const id = wallet.address.toLowerCase();
    const { eventStore, ids } = account.foundation;
    const metadata = { correlationId: 'x', actor: { type: 'system', id: 'test' } } as const;
    const registered = {
      id: ids.uuid(),
      type: 'UserRegistered',
      schemaVersion: 1,
      time: 1,
      data: { userId: id },
      metadata,
    };
    await eventStore.append(`user-${id}`, -1, [registered]);
    expect((await account.logIn(wallet)).userId).toMatch(/^usr_[0-9a-z]{26}$/);
  });

  it('redeems a challenge once when 20 requests come at the same time', async () => {
    const wallet = account.newWallet();
    const { message } = await account.challengeFor(wallet.address);
    const signature = wallet.signMessageSync(message);
    const headers = account.appHeaders();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => account.redeem(wallet.address, signature, headers)),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array<number>(19).fill(401)]);
    expect(await account.typesOf(`user-${wallet.address.toLowerCase()}`)).toEqual(REGISTERED);
    expect(await codeOf(await account.redeem(wallet.address, signature))).toBe('challenge_unknown');
  });

  it('stores with each event the id of the event that caused it', async () => {
    const wallet = account.newWallet();
    await account.logIn(wallet);
    expect(await causesOfLogin(wallet)).toEqual(expectedCauses);
  });

  it('is completed by the same signature after a crash before any of its appends', async () => {
    const streams = ['identity-', 'user-', 'session-'];
    for (const failing of streams) {
      const wallet = account.newWallet();
      const { message } = await account.challengeFor(wallet.address);
      const signature = wallet.signMessageSync(message);
      const crashed = await withoutAppendsTo(failing, account.foundation, () =>
        account.redeem(wallet.address, signature),
      );
      expect(await codeOf(crashed)).toBe('internal_error');
      const again = await account.redeem(wallet.address, signature);
      expect(again.status).toBe(201);
      const { userId } = await sessionOf(again);
      expect(await account.typesOf(`user-${userId}`)).toEqual(REGISTERED);
      expect(await causesOfLogin(wallet)).toEqual(expectedCauses);
      expect(await codeOf(await account.redeem(wallet.address, signature))).toBe('challenge_unknown');
    }
  });

  it('is refused with a code that tells whether a challenge is open', async () => {
    const [wallet, other] = [account.newWallet(), account.newWallet()];
    expect(await codeOf(await account.redeem(wallet.address, wallet.signMessageSync('x')))).toBe('challenge_unknown');
    const { message } = await account.challengeFor(wallet.address);
    expect(await codeOf(await account.redeem(wallet.address, other.signMessageSync(message)))).toBe(
      'wallet_signature_invalid',
    );
    expect(await codeOf(await account.redeem(wallet.address, wallet.signMessageSync('x')))).toBe(
      'wallet_signature_invalid',
    );
    account.clock.time += 300_000;
    expect(await codeOf(await account.redeem(wallet.address, wallet.signMessageSync(message)))).toBe(
      'challenge_unknown',
    );
  });

  it('redeems any of ten open challenges; an eleventh closes the oldest', async () => {
    const wallet = account.newWallet();
    const messages: string[] = [];
    for (let issued = 0; issued < 11; issued += 1) messages.push((await account.challengeFor(wallet.address)).message);
    const [oldest, ...open] = messages.map(
      (message) => () => account.redeem(wallet.address, wallet.signMessageSync(message)),
    );
    expect(oldest && (await codeOf(oldest()))).toBe('wallet_signature_invalid');
    for (const redeem of open) expect((await redeem()).status).toBe(201);
  });

  it('is kept open, and given to all others, whatever some addresses ask for, up to a hundred of all', async () => {
    const RATE_LIMITS = '{"login":{"points":1000,"seconds":60},"address":{"points":1000,"seconds":1}}';
    await using proxied = await startAccountUnderTest(folder, { TRUSTED_PROXIES: '127.0.0.1', RATE_LIMITS });
    const wallet = proxied.newWallet();
    const from = (address: string) => ({ ...proxied.appHeaders(), 'x-forwarded-for': address });
    const query = `/auth/web3/challenge?signer=${wallet.address}`;
    const askFrom = (address: string) => proxied.ask(query, { headers: from(address) });
    const { message } = await proxied.challengeFor(wallet.address, from('203.0.113.1'));
    for (let issued = 0; issued < 110; issued += 1) await askFrom(`203.0.113.${String(2 + (issued % 11))}`);
    expect((await askFrom('203.0.113.99')).status).toBe(200);
    expect((await askFrom('2001:db8:1:1::1')).status).toBe(200);
    expect(await codeOf(await askFrom('2001:db8:1:2::1'))).toBe('rate_limited');
    expect((await askFrom('2001:db8:2:1::1')).status).toBe(200);
    for (let single = 0; single < 47; single += 1) await askFrom(`198.51.100.${String(single)}`);
    const refused = await askFrom('198.51.100.99');
    expect(refused.headers.get('Retry-After')).toBe('300');
    expect(await codeOf(refused)).toBe('rate_limited');
    expect((await askFrom('203.0.113.2')).status).toBe(200);
    const login = await proxied.redeem(wallet.address, wallet.signMessageSync(message), from('203.0.113.1'));
    expect(login.status).toBe(201);
    expect((await askFrom('198.51.100.99')).status).toBe(200);
  });

  it('refuses a signature for another origin, and one that is malformed or not canonical', async () => {
    const both = await account.register({ origins: [ORIGIN, 'https://other.example'] });
    const wallet = account.newWallet();
    const { message } = await account.challengeFor(wallet.address, account.appHeaders({}, both));
    const signature = wallet.signMessageSync(message);
    const elsewhere = account.appHeaders({ origin: 'https://other.example' }, both);
    expect(await codeOf(await account.redeem(wallet.address, signature, elsewhere))).toBe('wallet_signature_invalid');
    for (const wrong of [
      '',
      '0xzz',
      signature.slice(0, -1),
      `${signature}0`,
      signature.slice(2),
      `${signature}${'00'.repeat(65_536)}`,
    ]) {
      expect(await codeOf(await account.redeem(wallet.address, wrong))).toBe('signature_malformed');
    }
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const highS = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0');
    const flipped = signature.endsWith('1b') ? '1c' : '1b';
    const twin = `${signature.slice(0, 66)}${highS}${flipped}`;
    const headers = account.appHeaders({}, both);
    expect(await codeOf(await account.redeem(wallet.address, twin, headers))).toBe('wallet_signature_invalid');
    expect((await account.redeem(wallet.address, signature, headers)).status).toBe(201);
  });

  it.each([
    ['no characters', ''],
    ['a wrong checksum', '0x70997970c51812dc3A010C7d01b50e0d17dc79C8'],
    ['too few digits', '0x70997970'],
    ['other characters', `0x${'g'.repeat(40)}`],
    ['no prefix', '70997970C51812dc3A010C7d01b50e0d17dc79C8'],
  ])('refuses a signer with %s', async (_, signer) => {
    const answer = await account.ask(account.challengePath(signer), { headers: account.appHeaders() });
    expect((await problemOfAnswer(answer)).errors?.[0]?.path).toBe('signer');
    expect(await codeOf(await account.redeem(signer, `0x${'1'.repeat(130)}`))).toBe('validation_failed');
  });

  it('refuses a request with a token that is not valid, because it asks to link', async () => {
    const wallet = account.newWallet();
    const { message } = await account.challengeFor(wallet.address);
    const signature = wallet.signMessageSync(message);
    const headers = { ...account.appHeaders(), authorization: 'Bearer x' };
    expect(await codeOf(await account.redeem(wallet.address, signature, headers))).toBe('token_invalid');
    expect((await account.redeem(wallet.address, signature)).status).toBe(201);
  });

  it('answers a request that is repeated with its idempotency key the same again', async () => {
    const wallet = account.newWallet();
    const { message } = await account.challengeFor(wallet.address);
    const signature = wallet.signMessageSync(message);
    const key = () => ({ ...account.appHeaders(), 'idempotency-key': sha256(signature) });
    const first = await account.redeem(wallet.address, signature, key());
    const again = await account.redeem(wallet.address, signature, key());
    expect(again.status).toBe(201);
    expect(await again.json()).toEqual(await first.json());
  });

  it('keeps apart two people behind one app who use the same idempotency key', async () => {
    const key = { 'idempotency-key': 'the-same' };
    const people = [account.newWallet(), account.newWallet()];
    for (const wallet of people) {
      const { message } = await account.challengeFor(wallet.address);
      const signature = wallet.signMessageSync(message);
      const answers = [wallet.address, wallet.address].map((address) =>
        account.redeem(address, signature, { ...account.appHeaders(), ...key }),
      );
      const sessions = await Promise.all(answers.map(async (answer) => (await (await answer).json()) as Session));
      expect(sessions.map(({ userId }) => userId)).toEqual(
        [wallet, wallet].map(({ address }) => address.toLowerCase()),
      );
      expect(sessions[0]).toEqual(sessions[1]);
    }
  });

  it('is not repeated once its session has ended', async () => {
    const wallet = account.newWallet();
    const { message } = await account.challengeFor(wallet.address);
    const signature = wallet.signMessageSync(message);
    const redeem = () =>
      account.redeem(wallet.address, signature, { ...account.appHeaders(), 'idempotency-key': 'ended' });
    const { refreshToken } = await sessionOf(await redeem());
    const { refreshToken: second } = await sessionOf(await account.refresh(refreshToken));
    await account.refresh(second);
    account.clock.time += 30_001;
    expect((await redeem()).status).toBe(201);
    expect(await codeOf(await account.refresh(refreshToken))).toBe('refresh_token_reused');
    expect(await codeOf(await redeem())).toBe('session_revoked');
  });

  it('stores nothing for a request that does not validate or that no app signed', async () => {
    const { eventStore } = account.foundation;
    const key = { 'idempotency-key': 'junk' };
    const head = await eventStore.head();
    const post = (body: unknown, headers: Record<string, string>) =>
      account.ask('/auth/web3', { method: 'POST', body, headers: { ...headers, ...key } });
    expect(await codeOf(await post({ signer: 1 }, account.appHeaders()))).toBe('validation_failed');
    const forged = account.appHeaders({ 'x-signature': `0x${'1'.repeat(130)}` });
    expect(await codeOf(await post({ signer: '0x', signature: '0x' }, forged))).toBe('app_signature_invalid');
    expect(await eventStore.head()).toBe(head);
  });

  it('refuses a signature that was used as one that fits none, while another challenge is open', async () => {
    const wallet = account.newWallet();
    const used = wallet.signMessageSync((await account.challengeFor(wallet.address)).message);
    expect((await account.redeem(wallet.address, used)).status).toBe(201);
    expect(await codeOf(await account.redeem(wallet.address, used))).toBe('challenge_unknown');
    const { message } = await account.challengeFor(wallet.address);
    expect(await codeOf(await account.redeem(wallet.address, used))).toBe('wallet_signature_invalid');
    expect((await account.redeem(wallet.address, wallet.signMessageSync(message))).status).toBe(201);
  });

  it('stores the request id, the app, the session and at most 200 characters of the device', async () => {
    const wallet = account.newWallet();
    const { message } = await account.challengeFor(wallet.address);
    const headers = { ...account.appHeaders(), 'x-request-id': 'login-1', 'user-agent': 'x'.repeat(500) };
    const answer = await account.redeem(wallet.address, wallet.signMessageSync(message), headers);
    const { accessToken, userId } = await sessionOf(answer);
    const session = decodeJwt(accessToken)['sid'];
    const stored = await account.foundation.eventStore.read(`session-${String(session)}`);
    const [started] = await personalDataOf(account.foundation).open(stored);
    expect(started?.metadata).toMatchObject({
      correlationId: 'login-1',
      actor: { type: 'user', id: userId },
      app: account.app.id,
      session,
    });
    expect(started?.data['device']).toBe('x'.repeat(200));
    expect(stored[0]?.dataText).not.toContain('x'.repeat(200));
  });
});
