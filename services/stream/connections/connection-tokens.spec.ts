import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NODES_KIND, nodeAnnouncement, type NodeAnnouncement } from '../../../schemas/announcements.ts';
import { appStream } from '../../../schemas/events/account/app-events.ts';
import { identityStream } from '../../../schemas/events/account/identity-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { AppEnds } from '../../../shared/auth/app-ends.ts';
import { ConnectionTokens, type StreamSigner } from '../../../shared/auth/connection-tokens.ts';
import { walletIdentityId } from '../../../shared/chain/identifiers/wallet-identity.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { aRecord } from '../testing/fake-catcher.ts';
import { StreamClient } from '../testing/stream-client.socketio.ts';
import { EVENT_URL, streamUnderTest } from '../testing/stream-under-test.module.ts';

const WALLET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const identityId = walletIdentityId(WALLET);
const byApp: StreamSigner = { kind: 'app', appId: 'app_gateway' };
const byUser: StreamSigner = { kind: 'user', userId: 'usr_1', wallet: WALLET };

type Stream = Awaited<ReturnType<typeof streamUnderTest>>;

describe('a node of the stream', () => {
  const clock = new TestClock(Date.now());
  let stream: Stream;
  let tokens: ConnectionTokens;
  let node: NodeAnnouncement;
  beforeAll(async () => {
    stream = await streamUnderTest({ clock });
    const { foundation } = stream;
    tokens = new ConnectionTokens({ ...foundation, apps: new AppEnds(foundation) });
    node = await eventually(announced, 5_000, 'it must announce itself');
    const claimed = anEvent({ type: 'IdentityClaimed', data: { ...eventExamples.IdentityClaimed, userId: 'usr_1' } });
    await foundation.eventStore.append(identityStream(identityId), -1, [claimed]);
  });
  afterAll(() => stream.close());

  const announced = async (): Promise<NodeAnnouncement | undefined> => {
    const [found] = await stream.foundation.readStore.announcements(NODES_KIND);
    return found && nodeAnnouncement.parse(found.document);
  };
  const tokenOf = (signer: StreamSigner, at: Partial<NodeAnnouncement> = {}) =>
    tokens.issue({ ...node, ...at }, signer).token;
  const connect = (signer: StreamSigner) => StreamClient.connect(stream.url(), tokenOf(signer));
  const codeFor = async (token: string) => (await StreamClient.refusal(stream.url(), { token })).code;

  it('announces where it is, by an address of its own that stays, and how many connections it has', async () => {
    expect(node).toMatchObject({ domain: EVENT_URL, rpcDomain: stream.url(), address: expect.stringMatching(/^0x/) });
    const client = await connect(byApp);
    await eventually(async () => (await announced())?.connections === 1, 5_000, 'it must count a connection');
    client.close();
    await eventually(async () => (await announced())?.connections === 0, 5_000, 'it must not count a closed one');
    await eventually(async () => (await announced())?.isReady, 5_000, 'it must say that it is ready');
  });

  it('lets in with a connection token, of an app or of the user of a wallet, and streams', async () => {
    for (const signer of [byApp, byUser]) {
      const contractAddress = await stream.registerContract();
      const client = await connect(signer);
      await client.subscribe(contractAddress);
      await stream.catcher.observe(aRecord({ contractAddress, block: 1 }));
      await client.waitForEvents(1);
      client.close();
    }
  });

  it('refuses a token of another node, one that expired, and one that was changed', async () => {
    expect(await codeFor(tokenOf(byApp, { address: WALLET }))).toBe('token_invalid');
    const token = tokenOf(byApp);
    expect(await codeFor(`${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`)).toBe('token_invalid');
    clock.time += 599_999;
    (await StreamClient.connect(stream.url(), token)).close();
    clock.time += 1;
    expect(await codeFor(token)).toBe('token_expired');
  });

  it('takes another token of whoever is connected, and nobody else’s', async () => {
    const client = await connect(byUser);
    expect(await client.request('refresh', { token: tokenOf(byUser) })).toMatchObject({ ok: true });
    expect(await client.request('refresh', { token: tokenOf(byApp) })).toMatchObject({
      ok: false,
      error: { code: 'forbidden' },
    });
    client.close();
  });

  it('disconnects an app itself once its server key was revoked', async () => {
    const serverKey = `0x${'5'.repeat(40)}`;
    const append = (type: 'AppServerKeyCreated' | 'AppServerKeyRevoked', revision: number) =>
      stream.foundation.eventStore.append(appStream('app_server'), revision, [
        anEvent({ type, data: { appId: 'app_server', signer: serverKey } }),
      ]);
    await append('AppServerKeyCreated', -1);
    const itself = { sub: 'app_server', client_id: 'app_server', sid: undefined, amr: ['app'], server_key: serverKey };
    const clients = [
      await connect({ kind: 'app-itself', appId: 'app_server', serverKey }),
      await StreamClient.connect(stream.url(), await stream.tokens.accessToken({ claims: itself })),
    ];
    await append('AppServerKeyRevoked', 0);
    clock.time += 1_000;
    for (const client of clients) await client.waitForDisconnect();
    expect(await codeFor(await stream.tokens.accessToken({ claims: itself }))).toBe('token_invalid');
  });

  it('disconnects an app that was revoked, and lets neither it nor a wallet in that is the user’s no more', async () => {
    const client = await connect(byApp);
    await stream.revokeApp('app_gateway');
    const released = anEvent({ type: 'IdentityReleased', data: { identityId, userId: 'usr_1' } });
    await stream.foundation.eventStore.append(identityStream(identityId), 0, [released]);
    clock.time += 1_000;
    await client.waitForDisconnect();
    expect(await codeFor(tokenOf(byApp))).toBe('app_revoked');
    expect(await codeFor(tokenOf(byUser))).toBe('token_invalid');
  });
});

it('whoever has the signing key of an app uses up neither its connections nor its commands', async () => {
  const limits = { connections: { points: 1, seconds: 1 }, streamCommand: { points: 2, seconds: 600 } };
  await using stream = await streamUnderTest({ environment: { RATE_LIMITS: JSON.stringify(limits) } });
  const { foundation } = stream;
  const serverKey = `0x${'5'.repeat(40)}`;
  const created = anEvent({ type: 'AppServerKeyCreated', data: { appId: 'app_gateway', signer: serverKey } });
  await foundation.eventStore.append(appStream('app_gateway'), -1, [created]);
  const find = async () => (await foundation.readStore.announcements(NODES_KIND))[0]?.document;
  const node = nodeAnnouncement.parse(await eventually(find, 5_000, 'it must announce itself'));
  const tokens = new ConnectionTokens({ ...foundation, apps: new AppEnds(foundation) });
  const itself: StreamSigner = { kind: 'app-itself', appId: 'app_gateway', serverKey };
  const tokenOf = (signer: StreamSigner) => tokens.issue(node, signer).token;
  const visitor = await StreamClient.connect(stream.url(), tokenOf(byApp));
  const app = await StreamClient.connect(stream.url(), tokenOf(itself));
  const codeOf = async (client: StreamClient) => (await client.refused('unsubscribe', { subscriptionId: 'x' })).code;
  expect((await visitor.refused('refresh', { token: tokenOf(itself) })).code).toBe('forbidden');
  expect([await codeOf(visitor), await codeOf(visitor)]).toEqual(['subscription_not_found', 'rate_limited']);
  expect(await codeOf(app)).toBe('subscription_not_found');
  visitor.close();
  app.close();
});

it('nodes have one address where they have one URL, and another elsewhere and under another master key', async () => {
  const addressAt = async (STREAM_URL: string) => {
    await using stream = await streamUnderTest({ environment: { STREAM_URL } });
    const announcements = () => stream.foundation.readStore.announcements(NODES_KIND);
    const [found] = await eventually(
      async () => ((await announcements()).length > 0 ? announcements() : undefined),
      5_000,
      'it must announce itself',
    );
    await stream.stopNode();
    expect(await announcements()).toEqual([]);
    return nodeAnnouncement.parse(found?.document).address;
  };
  const [one, same, other] = [
    await addressAt('https://one.test'),
    await addressAt('https://one.test'),
    await addressAt('https://two.test'),
  ];
  expect(one).toBe(same);
  expect(one).not.toBe(other);
});
