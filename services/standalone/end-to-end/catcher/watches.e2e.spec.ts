import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { callUntilServed } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { CatcherCaller, transferOf } from './catcher-caller.ts';
import { ProgramOnChain } from '../program-on-chain.ts';
import { changing, ProviderGateway } from '../../../../shared/testing/chain/provider-gateway.ts';

const folder = temporaryFolder();
const TOKEN = '0x00000000000000000000000000000000000A11CE';
const WITHHELD = '0x00000000000000000000000000000000000b0b00';
const WITHOUT_CODE = '0x00000000000000000000000000000000000c0de0';
/** The first blocks have transfers of one contract, the same number after them those of another. */
const BLOCKS = 20;
const FINAL_AFTER = 12;
const BLOOM_OF_NOTHING = `0x${'0'.repeat(512)}`;
const APP_WATCHES = 4;

describe('registered events', () => {
  let anvil: Anvil;
  let provider: ProviderGateway;
  let ours: ProgramOnChain<RunningProgram>;
  let caller: CatcherCaller;

  beforeAll(async () => {
    anvil = await Anvil.start(join(folder, 'chain'));
    for (let block = 1; block <= 2 * BLOCKS; block += 1) {
      await anvil.mine([transferOf(block <= BLOCKS ? TOKEN : WITHHELD, block)]);
    }
    await anvil.call('anvil_mine', `0x${FINAL_AFTER.toString(16)}`);
    provider = await ProviderGateway.start(anvil.rpcUrl, 'here');
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    const settings = { QUOTAS: JSON.stringify({ appWatches: APP_WATCHES }) };
    ours = await ProgramOnChain.start({ folder, start, anvil, chain: { rpcUrls: [provider.url] }, settings });
    caller = await CatcherCaller.signIn(ours.program.development);
  });
  afterAll(async () => {
    await ours.stop();
    await provider.stop();
  });

  /** Hides the logs of one contract, also from the blooms. */
  const withholding = changing(({ method }, result) => {
    if (method === 'eth_getLogs')
      return (result as { address: string }[]).filter(({ address }) => address !== WITHHELD);
    const isHeader = typeof result === 'object' && result !== null && 'logsBloom' in result && 'number' in result;
    const isHidden = isHeader && Number(result.number) > BLOCKS;
    return isHidden ? { ...result, logsBloom: BLOOM_OF_NOTHING, gasUsed: '0x0' } : result;
  });
  const found = async (contract: string) =>
    (await caller.events(contract)).map(({ BlockNumber, Origin }) => [BlockNumber, Origin]);
  const blocks = (from: number, to: number, origin: string) =>
    Array.from({ length: to - from + 1 }, (_, at) => [from + at, origin]);

  it('are read from an earlier block on when they are registered with it', async () => {
    const first = await caller.register(TOKEN, 9);
    expect(first).toMatchObject({ status: 201, body: { startBlock: 9 } });
    expect(first.body).not.toHaveProperty('warnings');
    await caller.eventually(TOKEN, ({ eventsTotal }) => eventsTotal === BLOCKS - 8, 'it must be caught');
    expect(await found(TOKEN)).toEqual(blocks(9, BLOCKS, 'backfill'));
    const earlier = await caller.register(TOKEN, 4);
    expect(earlier).toMatchObject({ status: 200, body: { id: first.body['id'], startBlock: 4 } });
    await caller.eventually(
      TOKEN,
      ({ state, eventsTotal }) => state === 'live' && eventsTotal === BLOCKS - 3,
      'what is before must be caught',
    );
    expect(await found(TOKEN)).toEqual(blocks(4, BLOCKS, 'backfill'));
    expect(await caller.register(TOKEN, 15)).toMatchObject({ status: 200, body: { startBlock: 15 } });
    await caller.eventually(TOKEN, ({ startBlock }) => startBlock === 15, 'it must begin later');
    expect(await caller.status(TOKEN)).toMatchObject({ eventsTotal: BLOCKS - 3, gaps: [] });
  });

  it('are accepted with a warning of a contract without code, and caught once it emits', async () => {
    const { status, body } = await caller.register(WITHOUT_CODE);
    expect([status, body['warnings']]).toEqual([
      201,
      [`the contract has no code at block ${String(2 * BLOCKS + FINAL_AFTER)}`],
    ]);
    await anvil.mine([transferOf(WITHOUT_CODE, 1)]);
    await caller.eventuallyAsOn(anvil, WITHOUT_CODE);
    expect(await caller.register(WITHOUT_CODE)).toMatchObject({ status: 200 });
    expect((await caller.register(WITHOUT_CODE)).body).not.toHaveProperty('warnings');
  });

  it('are repaired by a replay, in its blocks, where a provider has withheld logs and that there are any', async () => {
    provider.answer = withholding;
    const id = (await caller.register(WITHHELD)).body['id'] as string;
    await caller.eventually(
      WITHHELD,
      ({ state, verifiedBlock }) => state === 'live' && Number(verifiedBlock) >= 2 * BLOCKS,
      'it must be read, and read again',
    );
    expect(await found(WITHHELD)).toEqual([]);
    provider.answer = (_body, honest) => honest();
    const path = `/api/v1/contracts/${id}/replay`;
    expect((await caller.post(path, { fromBlock: BLOCKS + 5, toBlock: BLOCKS + 8 })).status).toBe(202);
    await caller.eventually(WITHHELD, ({ eventsTotal }) => eventsTotal === 4, 'the blocks must be repaired');
    expect(await found(WITHHELD)).toEqual(blocks(BLOCKS + 5, BLOCKS + 8, 'replay'));
    await ours.annals('watch', 'replay', id);
    await caller.eventuallyAsOn(anvil, WITHHELD);
    expect(await found(WITHHELD)).toEqual(blocks(BLOCKS + 1, 2 * BLOCKS, 'replay'));
  });

  it('are as many as the users of an app may claim together, each of whom drops what is his', async () => {
    const other = await CatcherCaller.signIn(ours.program.development);
    const contractOf = (index: number) => `0x${(0xc0de1000 + index).toString(16).padStart(40, '0')}`;
    const held = await other.register(contractOf(1));
    expect(held.status).toBe(201);
    const refused = { status: 403, body: { code: 'quota_exceeded', rule: 'appWatches' } };
    for (const one of [caller, other]) expect(await one.register(contractOf(2))).toMatchObject(refused);
    expect((await caller.register(TOKEN)).status).toBe(200);
    const url = `${ours.program.development.eventUrl}/api/v1/contracts/${held.body['id'] as string}`;
    expect((await callUntilServed(url, { method: 'DELETE', headers: caller.caller.bearer })).status).toBe(404);
    expect((await callUntilServed(url, { method: 'DELETE', headers: other.caller.bearer })).status).toBe(204);
    expect((await caller.register(contractOf(2))).status).toBe(201);
    expect(await other.register(contractOf(3))).toMatchObject(refused);
  });
});
