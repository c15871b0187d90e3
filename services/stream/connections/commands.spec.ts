import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { rateLimits } from '../../../schemas/http/rate-limits.ts';
import type { StreamEvent } from '../../../schemas/socket/stream-messages.ts';
import { aRecord, CHAIN_ID, newContract, TRANSFER } from '../testing/fake-catcher.ts';
import { streamUnderTest } from '../testing/stream-under-test.module.ts';

type Stream = Awaited<ReturnType<typeof streamUnderTest>>;

/** Longer than the specs take on any machine. */
const HOUR = 3_600;
const isMostOf = (seconds: number, retryAfter = 0): boolean => retryAfter > seconds / 2 && retryAfter <= seconds;
const BAD_CHECKSUM = '0xABCDEFabcdefabcdefabcdefabcdefabcdefabcd';

describe('a command', () => {
  let stream: Stream;
  let contractAddress: string;
  beforeAll(async () => {
    stream = await streamUnderTest();
    contractAddress = await stream.registerContract();
  });
  afterAll(() => stream.close());
  afterEach(() => {
    expect(stream.logged.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
  const subscription = (members: object = {}) => ({
    chainId: CHAIN_ID,
    contractAddress,
    eventSignature: 'Transfer',
    ...members,
  });

  it('is answered with its errors when it does not match the schema', async () => {
    const client = await stream.connect();
    const members = [
      ...[{ chainId: '2484' }, { chainId: { $gt: 0 } }, { chainId: 1.5 }, { cursor: 7 }, { finality: 'soon' }],
      ...[{ contractAddress: { $ne: null } }, { contractAddress: '0x12' }, { contractAddress: BAD_CHECKSUM }],
      ...[{ eventSignature: { $regex: '.*' } }, { eventSignature: '' }, { eventSignature: 'x'.repeat(50_000) }],
      ...[{ fromBlock: -1 }, { fromBlock: Number.MAX_VALUE }],
    ];
    const payloads = [undefined, null, 'text', 7, [], {}, [subscription()], Buffer.from('binary')];
    const refused: [command: string, ...payload: unknown[]][] = [
      ...[...payloads, ...members.map(subscription)].map((payload): [string, unknown] => ['subscribe', payload]),
      ...[['subscribe', subscription(), subscription()] as [string, ...unknown[]], ['subscribe'] as [string]],
      ['unsubscribe', { subscriptionId: { $gt: '' } }],
      ['refresh', { token: {} }],
    ];
    for (const [command, ...payload] of refused)
      expect(await client.refused(command, ...payload)).toMatchObject({ code: 'validation_failed' });
    const { detail } = await client.refused('subscribe', subscription({ chainId: 'x', fromBlock: 'y' }));
    expect(detail).toMatch(/chainId: .*; fromBlock: /);
    client.close();
  });

  it('may have additional members', async () => {
    const client = await stream.connect();
    const payload = JSON.parse('{"__proto__": {"chainId": 1}, "constructor": {"prototype": {"ok": false}}}') as object;
    const answer = await client.subscribe(contractAddress, payload);
    expect(answer.ok).toBe(true);
    client.close();
  });

  it('does no harm without an acknowledgement, with an unknown name, or when it is nested deeply', async () => {
    const client = await stream.connect();
    const names = ['subscribe', 'unsubscribe', 'refresh', 'error', 'event', '__proto__', 'constructor', 'toString'];
    for (const name of names) {
      client.socket.emit(name, {}, () => undefined);
      client.socket.emit(name);
      client.socket.emit(name, 1, 2, 3);
    }
    client.sendText(`2/events,["subscribe",${'['.repeat(20_000)}${']'.repeat(20_000)}]`);
    client.sendText(`2/events,7["subscribe",${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}]`);
    expect((await client.subscribe(contractAddress)).ok).toBe(true);
    client.close();
  });

  it('is answered with the names of the commands when it is none of them', async () => {
    const client = await stream.connect();
    for (const name of ['subscibe', 'event', '__proto__', 'constructor', '']) {
      expect(await client.refused(name, subscription())).toEqual({
        code: 'validation_failed',
        title: expect.any(String),
        detail: 'event: is not a command: these are subscribe, unsubscribe, refresh',
      });
    }
    client.close();
  });

  it('ends its own connection only, when it is too long or not a valid packet', async () => {
    const other = await stream.connect();
    for (const packet of ['2/events,{', '9', '2/events,["connect"]', 'x'.repeat(70_000)]) {
      const client = await stream.connect();
      client.sendText(packet);
      await client.waitForDisconnect();
    }
    expect((await other.subscribe(contractAddress)).ok).toBe(true);
    other.close();
  });

  it('is limited to fifty in the time of the limit', async () => {
    const streamCommand = { ...rateLimits.streamCommand, seconds: HOUR };
    await using limited = await streamUnderTest({ environment: { RATE_LIMITS: JSON.stringify({ streamCommand }) } });
    const client = await limited.connect();
    const answers = Array.from({ length: 60 }, () => client.refused('unsubscribe', { subscriptionId: 'none' }));
    const codes = (await Promise.all(answers)).map(({ code }) => code);
    expect(codes.filter((code) => code === 'subscription_not_found')).toHaveLength(50);
    expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(10);
    expect(isMostOf(HOUR, (await client.refused('refresh', { token: 'x' })).retryAfter)).toBe(true);
    expect((await client.refused('subscibe')).code).toBe('rate_limited');
  });
});

describe('the commands of a user', () => {
  it('count together, over whichever connection they come', async () => {
    await using limited = await streamUnderTest({
      environment: { RATE_LIMITS: JSON.stringify({ streamCommand: { points: 2, seconds: HOUR } }) },
    });
    const [first, second] = [await limited.connect(), await limited.connect()];
    const other = await limited.connect({ sub: 'usr_2' });
    const codeOf = async (client: typeof first) => (await client.refused('unsubscribe', { subscriptionId: 'x' })).code;
    expect(await codeOf(first)).toBe('subscription_not_found');
    expect(await codeOf(second)).toBe('subscription_not_found');
    const refused = await first.refused('unsubscribe', { subscriptionId: 'x' });
    expect(refused).toMatchObject({ code: 'rate_limited', detail: '2 per 3600 s are allowed' });
    expect(isMostOf(HOUR, refused.retryAfter)).toBe(true);
    expect(await codeOf(other)).toBe('subscription_not_found');
  });
});

/** Holds the answer of the read store with the second page of a contract's history until `letGo`. */
const holdSecondPage = ({ foundation: { readStore } }: Stream, contractAddress: string) => {
  const [held, going] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const find = readStore.find.bind(readStore);
  let pages = 0;
  readStore.find = async (collection, options) => {
    const found = await find(collection, options);
    // A query that finds less than two records is no page of the history: `positionOfNth` asks for one record.
    if (options.filter?.['ContractAddress'] !== contractAddress || found.length < 2) return found;
    pages += 1;
    if (pages !== 2) return found;
    held.resolve(undefined);
    await going.promise;
    return found;
  };
  return {
    isHeld: held.promise,
    letGo: () => {
      readStore.find = find;
      going.resolve(undefined);
    },
  };
};

describe('subscribing', () => {
  let stream: Stream;
  beforeAll(async () => {
    stream = await streamUnderTest();
  });
  afterAll(() => stream.close());
  const refusedFor = async (contractAddress: string, eventSignature: string) => {
    const client = await stream.connect();
    const { code, detail } = await client.refused('subscribe', { chainId: CHAIN_ID, contractAddress, eventSignature });
    client.close();
    return { code, detail };
  };

  it('accepts the name or the signature in any valid notation, and an address in any letter case', async () => {
    const contractAddress = await stream.registerContract();
    const channels = new Set<string>();
    for (const eventSignature of [
      'Transfer',
      'Transfer( address, address ,uint256)',
      'Transfer(address,address,uint)',
      'event Transfer(address indexed from, address indexed to, uint256 value);',
      'Transfer(address indexed,address indexed,uint256)',
    ]) {
      for (const address of [contractAddress, contractAddress.toLowerCase()]) {
        const client = await stream.connect();
        channels.add((await client.subscribe(address, { eventSignature })).channel);
        client.close();
      }
    }
    expect([...channels]).toEqual([
      expect.stringMatching(
        /^wch_.*\/eip155:2484\/0x[0-9a-f]{40}\/Transfer\(address indexed,address indexed,uint256\)\/latest$/,
      ),
    ]);
  });

  it('means the newest watch of the own app, else the oldest of all, or the one that an id names', async () => {
    const contractAddress = newContract();
    const wrong = await stream.catcher.register(contractAddress, TRANSFER, { watchId: 'wch_wrong', appId: 'app_7' });
    const right = await stream.catcher.register(contractAddress, TRANSFER, { watchId: 'wch_right', appId: 'app_8' });
    const subscribed = async (app: string, command: object = {}) => {
      const client = await stream.connect({ app });
      await client.subscribe(contractAddress, command);
      return client;
    };
    const clients = [
      [await subscribed('app_8'), right],
      [await subscribed('app_7'), wrong],
      [await subscribed('app_9'), wrong],
      [await subscribed('app_9', { watchId: right }), right],
      [await subscribed('app_9', { watchId: right, finality: 'finalized' }), right],
    ] as const;
    for (const watchId of [wrong, right])
      await stream.catcher.observe(aRecord({ contractAddress, block: 7, watchId, data: { watchId } }));
    await stream.catcher.finalize(7);
    await stream.catcher.project();
    for (const [client, watchId] of clients) {
      const [{ channel, event }] = (await client.waitForEvents(1)) as [StreamEvent];
      expect([event.WatchId, event.Data]).toEqual([watchId, { watchId }]);
      expect(channel.startsWith(`${watchId}/`)).toBe(true);
      client.close();
    }
  });

  it('is refused with both signatures when a name fits two events', async () => {
    const contractAddress = await stream.registerContract();
    await stream.catcher.register(contractAddress, 'Transfer(address indexed,bytes)');
    const { code, detail } = await refusedFor(contractAddress, 'Transfer');
    expect(code).toBe('validation_failed');
    expect(detail).toContain('Transfer(address indexed,address indexed,uint256)');
    expect(detail).toContain('Transfer(address indexed,bytes)');
    const client = await stream.connect();
    await client.subscribe(contractAddress, { eventSignature: 'Transfer(address,bytes)' });
    await stream.catcher.observe(aRecord({ contractAddress, block: 1 }));
    await stream.catcher.observe(aRecord({ contractAddress, block: 2, signature: 'Transfer(address indexed,bytes)' }));
    await stream.catcher.observe(aRecord({ contractAddress, block: 3 }));
    expect((await client.waitForEvents(1)).map(({ event }) => event.BlockNumber)).toEqual([2]);
  });

  it('needs a registered event', async () => {
    const contractAddress = await stream.registerContract();
    for (const [address, name] of [
      [newContract(), 'Transfer'],
      [contractAddress, 'Approval'],
      [contractAddress, 'Transfer(address)'],
      [contractAddress, '__proto__'],
    ] as const) {
      expect((await refusedFor(address, name)).code).toBe('watch_not_found');
    }
  });

  it('is possible once per channel, and up to a limit per connection', async () => {
    await using limited = await streamUnderTest({
      environment: { RATE_LIMITS: '{"subscriptions":{"points":3,"seconds":1}}' },
    });
    const client = await limited.connect();
    const contracts = await Promise.all([1, 2, 3].map(() => limited.registerContract()));
    for (const contractAddress of contracts.slice(0, 2)) await client.subscribe(contractAddress);
    const again = { chainId: CHAIN_ID, contractAddress: contracts[0], eventSignature: 'Transfer' };
    expect((await client.refused('subscribe', again)).code).toBe('already_subscribed');
    expect(await client.request('subscribe', { ...again, finality: 'finalized' })).toMatchObject({ ok: true });
    expect(await client.refused('subscribe', { ...again, contractAddress: contracts[2] })).toMatchObject({
      code: 'rate_limited',
      detail: '3 subscriptions of a connection at a time are allowed',
      retryAfter: 1,
    });
  });

  it('is possible once per channel, also when a client sends the command several times at once', async () => {
    const contractAddress = await stream.registerContract();
    const client = await stream.connect();
    const command = { chainId: CHAIN_ID, contractAddress, eventSignature: 'Transfer' };
    const answers = await Promise.all([1, 2, 3].map(() => client.request('subscribe', command)));
    expect(answers.filter((answer) => (answer as { ok: boolean }).ok)).toHaveLength(1);
  });

  it('ends with unsubscribe, which is possible once, and can begin anew', async () => {
    const contractAddress = await stream.registerContract();
    const client = await stream.connect();
    const { subscriptionId } = await client.subscribe(contractAddress);
    const other = await stream.connect();
    expect((await other.refused('unsubscribe', { subscriptionId })).code).toBe('subscription_not_found');
    expect(await client.request('unsubscribe', { subscriptionId })).toEqual({ ok: true });
    expect((await client.refused('unsubscribe', { subscriptionId })).code).toBe('subscription_not_found');
    await stream.catcher.observe(aRecord({ contractAddress, block: 1 }));
    await client.subscribe(contractAddress);
    await stream.catcher.observe(aRecord({ contractAddress, block: 2 }));
    expect((await client.waitForEvents(1)).map(({ event }) => event.BlockNumber)).toEqual([2]);
  });

  it('sends no more events after unsubscribe, also while it catches up', async () => {
    const contractAddress = await stream.registerContract();
    for (let block = 1; block <= 400; block += 1) stream.catcher.store('observed', aRecord({ contractAddress, block }));
    await stream.catcher.project();
    await stream.catcher.publish();
    const { isHeld, letGo } = holdSecondPage(stream, contractAddress);
    const client = await stream.connect();
    const { subscriptionId } = await client.subscribe(contractAddress, { fromBlock: 1 });
    await isHeld;
    expect(await client.request('unsubscribe', { subscriptionId })).toEqual({ ok: true });
    const given = client.events.map(({ event }) => event.BlockNumber);
    expect(given).toEqual(Array.from({ length: 64 }, (_, at) => at + 1));
    letGo();
    const { subscriptionId: next } = await client.subscribe(contractAddress);
    await stream.catcher.observe(aRecord({ contractAddress, block: 3_000 }));
    const events = await client.waitForEvents(given.length + 1);
    expect(events.map(({ event }) => event.BlockNumber)).toEqual([...given, 3_000]);
    expect(client.messages.filter(({ name }) => name === 'live')).toEqual([]);
    expect(next).not.toBe(subscriptionId);
  });
});
