import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { join } from 'node:path';
import type { JsonObject } from '../../../schemas/json.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { callUntilServed, signIn, type SignedIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import type { WholeProgram } from '../../../shared/testing/processes/whole-program.ts';
import { ChainUnderTest } from './chain-under-test.ethers.ts';
import type { TopicMessage } from './read-topic.ts';
import { registerTransfer } from './register-transfer.ts';
import { canonicalIds, Subscriber } from './subscriber.socketio.ts';

const BACKFILLED_EVENTS = 2_000;
const WAIT_MS = 60_000;

let chain: ChainUnderTest;
let program: WholeProgram;
let user: SignedIn;

/** A test of the main path, which later ones build on. It prints the program's logs if it fails. */
const step = (title: string, run: () => Promise<void>): void => {
  it(title, async () => {
    try {
      await run();
    } catch (error) {
      process.stderr.write(`${program.logs}\n`);
      throw error;
    }
  });
};

const post = (url: string, body: object) => callUntilServed(url, { method: 'POST', body, headers: user.bearer });

const register = (event?: Parameters<typeof registerTransfer>[3]) =>
  registerTransfer(program.development, user, chain.token.address, event);

/**
 * The watches of the token's transfers: first that of the actual event, which was registered first and so is the one
 * meant, then the others.
 */
let watchIds: string[];
const registerAll = async (): Promise<void> => {
  const ids: string[] = [];
  for (const event of ['transfer', 'wronglyIndexed', 'anonymous'] as const) {
    const { status, body } = await register(event);
    expect([200, 201]).toContain(status);
    ids.push(body['id'] as string);
  }
  watchIds = [...ids.slice(1), ...ids.slice(0, 1)];
};

/** The ids of all events of a watch in the query, page by page. */
const queriedIds = async (watch: { watchId: string } | { eventSignature: string }): Promise<string[]> => {
  const ids: string[] = [];
  let cursor = '';
  do {
    const query = new URLSearchParams({
      chainId: '2484',
      contractAddress: chain.token.address,
      take: '1000',
      ...watch,
      ...(cursor && { cursor }),
    });
    const { status, body } = await callUntilServed(
      `${program.development.eventUrl}/api/v1/events?${query.toString()}`,
      {
        headers: user.bearer,
      },
    );
    if (status !== 200) throw new Error(`the query answered ${String(status)} ${JSON.stringify(body)}`);
    ids.push(...(body['items'] as JsonObject[]).map(({ Id }) => Id as string));
    cursor = (body['next'] as string | null) ?? '';
  } while (cursor !== '');
  return ids;
};

/** The ids of all events of a watch in an export. */
const exportedIds = async (accept: string, watchId: string): Promise<string[]> => {
  const query = new URLSearchParams({ chainId: '2484', contractAddress: chain.token.address, watchId });
  const ask = async () => {
    const given = await fetch(`${program.development.eventUrl}/api/v1/events?${query.toString()}`, {
      headers: { ...user.bearer, accept },
    });
    return given.status !== 503 && given;
  };
  const answer = await eventually(ask, WAIT_MS, 'the export must be answered');
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining(accept)]);
  const lines = (await answer.text()).split(/\r?\n/).slice(0, -1);
  if (accept === 'text/csv') return lines.slice(1).map((line) => line.split(',', 1)[0] ?? '');
  return lines.map((line) => (JSON.parse(line) as { Id: string }).Id);
};

const expectQueryToEqualTheChain = async (): Promise<void> => {
  for (const watch of [{ eventSignature: 'Transfer' }, ...watchIds.map((watchId) => ({ watchId }))]) {
    await eventually(
      async () => JSON.stringify(await queriedIds(watch)) === JSON.stringify(await chain.transferIds()),
      60_000,
      'the query must equal the chain, in chain order',
    );
  }
  const ids = await chain.transferIds();
  for (const accept of ['application/x-ndjson', 'text/csv']) {
    for (const watchId of watchIds) expect(await exportedIds(accept, watchId)).toEqual(ids);
  }
  for (const [at, watchId] of watchIds.entries()) {
    const name = at === 1 ? 'Noted' : 'Transfer';
    const counted = async () =>
      (await callUntilServed(`${statusUrl(name)}?watchId=${watchId}`)).body['eventsTotal'] === ids.length;
    await eventually(counted, WAIT_MS, 'another projection must count what the query has');
  }
};

const statusUrl = (eventName: string): string =>
  `${program.development.eventUrl}/api/v1/status/2484/${chain.token.address}/${eventName}`;

/** A node of a busy machine may still be reading the topic, and says so. */
const subscribe = (options: object = {}): Promise<Subscriber> =>
  eventually(
    async () => {
      const { subscriber, refused } = await Subscriber.connect(program.development.streamUrl, user.accessToken);
      if (refused !== undefined) throw new Error(JSON.stringify(refused));
      const { address: contractAddress } = chain.token;
      const asked = { chainId: 2484, contractAddress, eventSignature: 'Transfer', ...options };
      const answer = await subscriber.subscribe(asked);
      if (answer.ok) return subscriber;
      subscriber.close();
      throw new Error(JSON.stringify(answer));
    },
    WAIT_MS,
    'the node must accept the subscription',
  );

/** The canonical records according to the messages of the topic, by watch. Drops repeats. */
const recordsInTopic = (messages: readonly TopicMessage[]): Map<string, Map<string, JsonObject>> => {
  const seen = new Set<string>();
  const byWatch = new Map(watchIds.map((watchId) => [watchId, new Map<string, JsonObject>()]));
  for (const { headers, value } of messages) {
    const id = headers['ce_id'] ?? '';
    if (seen.has(id)) continue;
    seen.add(id);
    const record = JSON.parse(value) as JsonObject & { Id: string; WatchId: string; Data: JsonObject };
    const records = byWatch.get(record.WatchId);
    if (headers['ce_type'] === 'annals.ChainEventObserved.v1') records?.set(record.Id, record.Data);
    else records?.delete(record.Id);
  }
  return byWatch;
};

const sorted = (ids: readonly string[]): string => JSON.stringify(ids.toSorted());

/**
 * What the whole program must do over HTTP and Socket.IO, however it is run.
 * @param start starts it without any data, on this chain; each call has another `name`
 * @param readTopic reads the topic of chain events of the program `first` from its beginning to its end; absent if it
 * cannot be reached
 */
export const mainPathContract = (
  start: (name: string, chain: ChainUnderTest) => Promise<WholeProgram>,
  readTopic?: () => Promise<TopicMessage[]>,
): void => {
  const folder = temporaryFolder();

  const expectTopicToEqualTheChain = async (): Promise<void> => {
    if (!readTopic) return;
    const transfers = await chain.transfers();
    const ids = sorted(transfers.map(({ id }) => id));
    const data = new Map(transfers.map(({ id, ...values }) => [id, values]));
    const records = await eventually(
      async () => {
        const found = recordsInTopic(await readTopic());
        return Array.from(found.values()).every((ofWatch) => sorted([...ofWatch.keys()]) === ids) && found;
      },
      20_000,
      'the topic must equal the chain for every watch',
    );
    const [wrong, anonymous, right] = watchIds.map((watchId) => records.get(watchId) ?? new Map<string, JsonObject>());
    expect(right).toEqual(data);
    for (const [id, { topic: _, ...values }] of anonymous ?? []) expect(values).toEqual(data.get(id));
    for (const values of wrong?.values() ?? []) expect(values).toMatchObject({ error: expect.any(String) });
  };

  beforeAll(async () => {
    chain = await ChainUnderTest.start(join(folder, 'chain'));
    await chain.mine(BACKFILLED_EVENTS / 50, 50);
    program = await start('first', chain);
  });
  // Two hooks, so that the chain is stopped even if the program did not start.
  afterAll(() => (program as WholeProgram | undefined)?.stop());
  afterAll(() => chain.stop());

  step('signs a user in, stores a profile and answers its history', async () => {
    const wallet = randomWallet();
    user = await signIn(program.development, wallet);
    const { accountUrl } = program.development;
    expect(user.userId).toBe(wallet.address.toLowerCase());
    const changed = await post(`${accountUrl}/user/${user.userId}/profile`, {
      username: ' Ada ',
      lastname: 'Lovelace',
    });
    expect(changed).toMatchObject({ status: 200, body: { username: 'Ada', lastname: 'Lovelace', firstname: null } });
    const headers = { ...user.bearer, 'x-min-position': changed.headers.get('x-position') ?? '' };
    expect(await callUntilServed(`${accountUrl}/user/${user.userId}`, { headers })).toMatchObject({
      status: 200,
      body: changed.body,
    });
    const history = await callUntilServed(`${accountUrl}/user/${user.userId}/history`, { headers });
    expect((history.body['items'] as JsonObject[]).map(({ type }) => type)).toEqual([
      'UserRegistered',
      'SmartAccountAssigned',
      'IdentityLinked',
      'UserLoggedIn',
      'SessionStarted',
      'ProfileUpdated',
    ]);
  });

  step('backfills the events before the registration', async () => {
    await registerAll();
    expect(await register()).toMatchObject({
      status: 200,
      body: { eventSignature: 'Transfer(address indexed,address indexed,uint256)', startBlock: 0 },
    });
    await expectQueryToEqualTheChain();
    expect((await queriedIds({ eventSignature: 'Transfer' })).length).toBeGreaterThanOrEqual(BACKFILLED_EVENTS);
    await eventually(
      async () =>
        (await callUntilServed(`${statusUrl('Transfer')}?watchId=${watchIds.at(-1) ?? ''}`)).body['state'] === 'live',
      WAIT_MS,
      'a watch that is backfilled must be live',
    );
  });

  step('streams new events, and reverts those that a reorganisation of depth 3 removes', async () => {
    const whole = await subscribe({ fromBlock: 0 });
    const others = await Promise.all(
      [{ watchId: watchIds[0] }, { watchId: watchIds[1], eventSignature: 'Noted' }].map((watch) =>
        subscribe({ ...watch, fromBlock: 0 }),
      ),
    );
    await chain.mine(1, 1);
    const newest = (await chain.transferIds()).at(-1);
    // Until the stream has reached the head, it would deliver earlier events as live ones.
    await eventually(() => whole.delivered.some(({ event }) => event.Id === newest), WAIT_MS, 'the newest must arrive');
    const live = await subscribe();
    await chain.mine(2, 3);
    await eventually(() => live.delivered.length === 6, WAIT_MS, 'six live events must arrive');
    const revert = await chain.snapshot();
    await chain.mine(3, 4);
    await eventually(() => live.delivered.length === 18, WAIT_MS, 'twelve more must arrive');
    await revert();
    await chain.mine(4, 2);
    await eventually(() => live.delivered.length === 38, WAIT_MS, 'twelve reversals and eight new events must arrive');
    const changes = live.delivered.map(({ change }) => change);
    expect(changes.slice(18)).toEqual([...Array<string>(12).fill('reverted'), ...Array<string>(8).fill('observed')]);
    for (const subscriber of [whole, ...others]) {
      await eventually(
        async () => sorted(canonicalIds(subscriber.delivered)) === sorted(await chain.transferIds()),
        10_000,
        'backfilled and live events together must equal the chain',
      );
      expect(subscriber.liveCount).toBe(1);
      subscriber.close();
    }
    await expectQueryToEqualTheChain();
    live.close();
  });

  step('refuses a connection without a valid token or from another origin', async () => {
    const { streamUrl } = program.development;
    expect((await Subscriber.connect(streamUrl, '')).refused).toMatchObject({ code: 'token_missing' });
    expect((await Subscriber.connect(streamUrl, 'nonsense')).refused).toMatchObject({ code: 'token_invalid' });
    const fromElsewhere = await Subscriber.connect(streamUrl, user.accessToken, 'https://evil.example');
    expect(fromElsewhere.refused).toMatchObject({ code: 'origin_not_allowed' });
  });

  step('loses and repeats no event when it is killed during a reorganisation', async () => {
    const earlier = new Set(await chain.transferIds());
    const before = await subscribe();
    await chain.mine(1, 5);
    await eventually(() => before.delivered.length === 5, 10_000, 'five events must arrive');
    const revert = await chain.snapshot();
    const mining = chain.mine(3, 40);
    await eventually(() => before.delivered.length > 5, 10_000, 'it must be in the middle of catching');
    await program.kill();
    await mining;
    await revert();
    await chain.mine(5, 30);
    program = await program.restart();
    const after = await subscribe({ cursor: before.delivered.at(-1)?.cursor });
    await chain.mine(2, 10);
    await expectQueryToEqualTheChain();
    await eventually(
      async () => {
        const ids = canonicalIds([...before.delivered, ...after.delivered]);
        return sorted(ids) === sorted((await chain.transferIds()).filter((id) => !earlier.has(id)));
      },
      20_000,
      'the events delivered before and after the kill must equal the chain, without repeats',
    );
    before.close();
    after.close();
    await expectTopicToEqualTheChain();
  });

  step('continues the backfill after it was killed during it', async () => {
    await program.stop();
    program = await start('second', chain);
    user = await signIn(program.development);
    await registerAll();
    await program.kill();
    program = await program.restart();
    await expectQueryToEqualTheChain();
  });
};
