import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { EventRecord } from '../../../../schemas/http/event-catcher/event-record.ts';
import type { RegisteredContract } from '../../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { WatchStatus } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import {
  callUntilServed,
  signIn,
  type Answered,
  type SignedIn,
} from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { ProgramOnChain } from '../program-on-chain.ts';
import { registerTransfer } from '../register-transfer.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 60_000;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const SOMEBODY = `0x${'0'.repeat(24)}${'a1'.repeat(20)}`;
/**
 * A backfill starts with fifty blocks, whatever they contain, and covers only final blocks: histories that reach a
 * bound are longer.
 */
const QUOTAS = { userWatches: 2, backfillBlocks: 150, backfillRecords: 20 };

describe('a registered event that is stopped', () => {
  let anvil: Anvil;
  let ours: ProgramOnChain<RunningProgram>;
  let caller: SignedIn;
  let contracts = 0;
  let transfers = 0;

  beforeAll(async () => {
    anvil = await Anvil.start(join(folder, 'chain'));
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    ours = await ProgramOnChain.start({ folder, start, anvil, settings: { QUOTAS: JSON.stringify(QUOTAS) } });
  });
  beforeEach(async () => {
    caller = await signIn(ours.program.development);
  });
  afterAll(() => ours.stop());

  const newContract = (): string => `0x${(0xc0de00 + (contracts += 1)).toString(16).padStart(40, '0')}`;
  /** Mines a block with a transfer of each contract. @returns the values of the transfers */
  const transfer = async (...tokens: readonly string[]): Promise<string[]> => {
    const logs = tokens.map((address) => {
      const data = `0x${(transfers += 1).toString(16).padStart(64, '0')}`;
      return { address, topics: [TRANSFER, SOMEBODY, SOMEBODY], data };
    });
    await anvil.mine(logs);
    return logs.map(({ data }) => String(Number(data)));
  };
  const request = (path: string, method = 'GET', { bearer } = caller): Promise<Answered> =>
    callUntilServed(ours.program.development.eventUrl + path, { method, headers: bearer });
  const change = (watch: RegisteredContract, what: 'pause' | 'resume') =>
    request(`/api/v1/contracts/${watch.id}/${what}`, 'POST');
  const remove = (watch: RegisteredContract, by = caller) => request(`/api/v1/contracts/${watch.id}`, 'DELETE', by);
  const head = async (): Promise<number> => Number(await anvil.call('eth_blockNumber'));
  const register = async (contract: string, by = caller, startBlock?: number): Promise<RegisteredContract> => {
    const { development } = ours.program;
    const answer = await registerTransfer(development, by, contract, 'transfer', startBlock ?? (await head()));
    expect([200, 201]).toContain(answer.status);
    return answer.body as unknown as RegisteredContract;
  };
  const statusOf = ({ contractAddress }: RegisteredContract) =>
    request(`/api/v1/status/2484/${contractAddress}/Transfer`);
  const status = async (watch: RegisteredContract) => (await statusOf(watch)).body as unknown as WatchStatus;
  /** Waits, because several projections have a part of the status, and each is up to date at another moment. */
  const hasStatus = (watch: RegisteredContract, expected: object, otherwise = 'it must have this status') =>
    eventually(
      async () => {
        expect(await status(watch)).toMatchObject(expected);
        return true;
      },
      HAPPENS_WITHIN_MS,
      otherwise,
    );
  const isIn = (state: WatchStatus['state'], watch: RegisteredContract) =>
    hasStatus(watch, { state }, `it must be ${state}`);
  const valuesOf = async ({ id, contractAddress }: RegisteredContract, query = ''): Promise<unknown[]> => {
    const about = `chainId=2484&contractAddress=${contractAddress}&watchId=${id}&take=1000${query}`;
    const { items } = (await request(`/api/v1/events?${about}`)).body as unknown as { items: EventRecord[] };
    return items.map(({ Data }) => Data['value']);
  };
  const has = (watch: RegisteredContract, values: readonly string[]) =>
    eventually(
      async () => JSON.stringify(await valuesOf(watch)) === JSON.stringify(values),
      HAPPENS_WITHIN_MS,
      `its records must be ${values.join(', ')}`,
    );
  /** Waits until blocks up to the newest one have been read for another registration. */
  const headIsRead = async (other: RegisteredContract): Promise<void> => {
    const [value = ''] = await transfer(other.contractAddress);
    const isRead = async () => (await valuesOf(other)).includes(value);
    await eventually(isRead, HAPPENS_WITHIN_MS, 'the newest block must be read for the other one');
  };

  it('has no record of blocks that come while it is paused, also after a crash, and each of them once it is resumed', async () => {
    const [watch, other] = [await register(newContract()), await register(newContract())];
    await Promise.all([isIn('live', watch), isIn('live', other)]);
    const before = await transfer(watch.contractAddress);
    await has(watch, before);
    expect(await change(watch, 'pause')).toMatchObject({ status: 200, body: { id: watch.id, state: 'paused' } });
    await headIsRead(other);
    const meanwhile = await transfer(watch.contractAddress);
    await headIsRead(other);
    await ours.program.kill();
    meanwhile.push(...(await transfer(watch.contractAddress)));
    ours.program = await ours.program.restart();
    await headIsRead(other);
    await hasStatus(watch, { state: 'paused', lastError: null, eventsTotal: 1 });
    expect(await change(watch, 'resume')).toMatchObject({ status: 200, body: { id: watch.id } });
    await has(watch, [...before, ...meanwhile]);
    await isIn('live', watch);
    const next = await transfer(watch.contractAddress);
    await has(watch, [...before, ...meanwhile, ...next]);
  });

  it('has its records reverted by a reorganisation while it is paused', async () => {
    const [watch, other] = [await register(newContract()), await register(newContract())];
    await Promise.all([isIn('live', watch), isIn('live', other)]);
    const kept = await transfer(watch.contractAddress);
    const reverted = await transfer(watch.contractAddress);
    await has(watch, [...kept, ...reverted]);
    await change(watch, 'pause');
    await headIsRead(other);
    await anvil.rollBack(2);
    const replacing = await transfer(watch.contractAddress);
    await headIsRead(other);
    await has(watch, [...kept, ...replacing]);
    expect(await valuesOf(watch, '&status=reverted')).toEqual(reverted);
    await isIn('paused', watch);
    await change(watch, 'resume');
    await isIn('live', watch);
    await has(watch, [...kept, ...replacing]);
  });

  it('is resumed by the operator only, where the operator has paused it', async () => {
    const [watch, other] = [await register(newContract()), await register(newContract())];
    await Promise.all([isIn('live', watch), isIn('live', other)]);
    expect(await ours.annals('watch', 'pause', watch.id)).toContain(`${watch.id} is paused: Transfer(`);
    await headIsRead(other);
    await hasStatus(watch, { state: 'paused', lastError: 'the operator paused this registration' });
    const meanwhile = await transfer(watch.contractAddress);
    await headIsRead(other);
    expect(await change(watch, 'resume')).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(await valuesOf(watch)).toEqual([]);
    expect(await ours.annals('watch', 'resume', watch.id)).toContain(`${watch.id} is read: Transfer(`);
    await has(watch, meanwhile);
    await isIn('live', watch);
  });

  it('is read for as long as an app holds it, and from where it stopped once it is registered again', async () => {
    const app = JSON.parse(
      await ours.annals('app', 'create', '--name', 'Other', '--origin', 'https://other.example', '--json'),
    ) as { apiKey: string; signingKey: string };
    const stranger = await signIn({
      ...ours.program.development,
      app: { ...app, origin: 'https://other.example' },
    });
    const [watch, other] = [await register(newContract()), await register(newContract())];
    expect(await register(watch.contractAddress, stranger)).toMatchObject({ id: watch.id });
    await Promise.all([isIn('live', watch), isIn('live', other)]);
    expect(await change(watch, 'pause')).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect((await remove(watch)).status).toBe(204);
    const before = await transfer(watch.contractAddress);
    await has(watch, before);
    expect((await remove(watch, stranger)).status).toBe(204);
    await eventually(async () => (await statusOf(watch)).status === 404, HAPPENS_WITHIN_MS, 'it must be gone');
    const meanwhile = await transfer(watch.contractAddress);
    await headIsRead(other);
    for (const path of ['', '/pause', '/resume'].map((what) => `/api/v1/contracts/${watch.id}${what}`)) {
      const gone = await request(path, path.endsWith('e') ? 'POST' : 'GET');
      expect(gone).toMatchObject({ status: 404, body: { code: 'watch_not_found' } });
    }
    expect(await register(watch.contractAddress, caller, watch.startBlock)).toMatchObject({ id: watch.id });
    await has(watch, [...before, ...meanwhile]);
    await isIn('live', watch);
  });

  it('makes room for another one when it is removed: nobody has more than the quota', async () => {
    const [first] = [await register(newContract()), await register(newContract())];
    const third = newContract();
    const refused = await registerTransfer(ours.program.development, caller, third);
    expect(refused).toMatchObject({ status: 403, body: { code: 'quota_exceeded', rule: 'userWatches' } });
    expect((await registerTransfer(ours.program.development, caller, first.contractAddress)).status).toBe(200);
    expect((await remove(first)).status).toBe(204);
    expect((await registerTransfer(ours.program.development, caller, third)).status).toBe(201);
    const fourth = await registerTransfer(ours.program.development, caller, newContract());
    expect(fourth).toMatchObject({ status: 403, body: { code: 'quota_exceeded', rule: 'userWatches' } });
  });

  it.each([
    ['blocks', 'backfillBlocks', 2 * QUOTAS.backfillBlocks, 1],
    ['records', 'backfillRecords', QUOTAS.backfillBlocks - 10, 2 * QUOTAS.backfillRecords],
  ] as const)('pauses when its backfill has as many %s as it may have', async (bound, rule, blocks, first) => {
    const [contract, other] = [newContract(), await register(newContract())];
    const values = await transfer(...Array<string>(first).fill(contract));
    const startBlock = await head();
    await ours.mine(blocks);
    values.push(...(await transfer(contract)));
    await headIsRead(other);
    const watch = await register(contract, caller, startBlock);
    await hasStatus(watch, {
      state: 'paused',
      lastError: expect.stringContaining(`as many ${bound} as one registration may have`),
      eventsTotal: first,
    });
    expect(await change(watch, 'resume')).toMatchObject({ status: 403, body: { code: 'quota_exceeded', rule } });
    await ours.annals('watch', 'resume', watch.id);
    await has(watch, values);
    await isIn('live', watch);
  });
});
