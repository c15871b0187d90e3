import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import type { JsonObject } from '../../../schemas/json.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { call, signIn, type SignedIn } from '../../../shared/testing/http-caller.ethers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import type { WholeProgram } from '../../../shared/testing/whole-program.ts';
import { ChainUnderTest } from './chain-under-test.ethers.ts';
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

const post = (url: string, body: object) => call(url, { method: 'POST', body, headers: user.bearer });

const register = () => registerTransfer(program.development, user, chain.token.address);

/** The ids of all events that the query answers, read page by page. */
const queriedIds = async (): Promise<string[]> => {
  const ids: string[] = [];
  let cursor = '';
  do {
    const query = new URLSearchParams({
      chainId: '2484',
      contractAddress: chain.token.address,
      take: '1000',
      ...(cursor && { cursor }),
    });
    const { status, body } = await call(`${program.development.eventUrl}/api/v1/events?${query.toString()}`, {
      headers: user.bearer,
    });
    if (status !== 200) throw new Error(`the query answered ${String(status)} ${JSON.stringify(body)}`);
    ids.push(...(body['items'] as JsonObject[]).map(({ Id }) => Id as string));
    cursor = (body['next'] as string | null) ?? '';
  } while (cursor !== '');
  return ids;
};

const expectQueryToEqualTheChain = async (): Promise<void> => {
  await eventually(
    async () => JSON.stringify(await queriedIds()) === JSON.stringify(await chain.transferIds()),
    60_000,
    'the query must equal the chain, in chain order',
  );
};

const subscribe = async (options: object = {}): Promise<Subscriber> => {
  const { subscriber, refused } = await Subscriber.connect(program.development.streamUrl, user.accessToken);
  expect(refused).toBeUndefined();
  const answer = await subscriber.subscribe({
    chainId: 2484,
    contractAddress: chain.token.address,
    eventSignature: 'Transfer',
    ...options,
  });
  expect(answer).toMatchObject({ ok: true });
  return subscriber;
};

const sorted = (ids: readonly string[]): string => JSON.stringify(ids.toSorted());

/**
 * What the whole program must do over HTTP and Socket.IO, however it is run.
 * @param start starts it without any data, on this chain; each call has another `name`
 */
export const mainPathContract = (start: (name: string, chain: ChainUnderTest) => Promise<WholeProgram>): void => {
  const folder = temporaryFolder();

  beforeAll(async () => {
    chain = await ChainUnderTest.start(join(folder, 'chain'));
    await chain.mine(BACKFILLED_EVENTS / 50, 50);
    program = await start('first', chain);
  });
  // Two hooks, so that the chain is stopped even if the program did not start.
  afterAll(() => program.stop());
  afterAll(() => chain.stop());

  step('signs a user in, stores a profile and answers its history', async () => {
    const wallet = Wallet.createRandom();
    user = await signIn(program.development, wallet);
    const { accountUrl } = program.development;
    expect(user.userId).toBe(wallet.address.toLowerCase());
    const changed = await post(`${accountUrl}/user/${user.userId}/profile`, {
      username: ' Ada ',
      lastname: 'Lovelace',
    });
    expect(changed).toMatchObject({ status: 200, body: { username: 'Ada', lastname: 'Lovelace', firstname: null } });
    const headers = { ...user.bearer, 'x-min-position': changed.headers.get('x-position') ?? '' };
    expect(await call(`${accountUrl}/user/${user.userId}`, { headers })).toMatchObject({
      status: 200,
      body: changed.body,
    });
    const history = await call(`${accountUrl}/user/${user.userId}/history`, { headers });
    expect((history.body['items'] as JsonObject[]).map(({ type }) => type)).toEqual([
      'UserRegistered',
      'IdentityLinked',
      'UserLoggedIn',
      'ProfileUpdated',
    ]);
  });

  step('backfills the events before the registration', async () => {
    expect(await register()).toMatchObject({
      status: 201,
      body: { eventSignature: 'Transfer(address indexed,address indexed,uint256)', startBlock: 0 },
    });
    await expectQueryToEqualTheChain();
    expect((await queriedIds()).length).toBeGreaterThanOrEqual(BACKFILLED_EVENTS);
    const status = `${program.development.eventUrl}/api/v1/status/2484/${chain.token.address}/Transfer`;
    await eventually(
      async () => (await call(status)).body['state'] === 'live',
      WAIT_MS,
      'a watch that is backfilled must be live',
    );
  });

  step('streams new events, and reverts those that a reorganisation of depth 3 removes', async () => {
    const whole = await subscribe({ fromBlock: 0 });
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
    await eventually(
      async () => sorted(canonicalIds(whole.delivered)) === sorted(await chain.transferIds()),
      10_000,
      'backfilled and live events together must equal the chain',
    );
    expect(whole.liveCount).toBe(1);
    await expectQueryToEqualTheChain();
    live.close();
    whole.close();
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
  });

  step('continues the backfill after it was killed during it', async () => {
    await program.stop();
    program = await start('second', chain);
    user = await signIn(program.development);
    await register();
    await program.kill();
    program = await program.restart();
    await expectQueryToEqualTheChain();
  });
};
