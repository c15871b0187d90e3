import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { CatcherCaller, transferOf } from './catcher-caller.ts';
import { ProgramOnChain } from '../program-on-chain.ts';
import { ProviderGateway, requestsIn, type HttpAnswer } from '../../../../shared/testing/chain/provider-gateway.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 60_000;
const CONTRACTS = 24;
const BLOCKS = 1_200;
/** Distance between blocks with logs. */
const BLOCKS_APART = 100;
const RANGES_A_SECOND = 10;

type Refuse = (body: string) => string | HttpAnswer;
const refuseByStatus: Refuse = () => ({ status: 429, headers: { 'retry-after': '1' }, body: 'Too many requests' });
const refuseByError: Refuse = (body) => {
  const error = { code: -32_005, message: 'project ID request rate exceeded' };
  return JSON.stringify(requestsIn(body).map(({ id }) => ({ jsonrpc: '2.0', id, error })));
};

describe('a provider that answers so many requests for logs a second', () => {
  let anvil: Anvil;
  let provider: ProviderGateway;
  let ours: ProgramOnChain<RunningProgram>;
  let caller: CatcherCaller;
  /** The refused ranges of logs, and the answered ones. */
  let refused: string[];
  let answered: string[];

  beforeAll(async () => {
    anvil = await Anvil.start(join(folder, 'chain'));
    const contracts = Array.from({ length: 2 * CONTRACTS }, (_, at) => contractOf(at));
    for (let block = 1; block <= BLOCKS; block += BLOCKS_APART) {
      await anvil.mine(contracts.map((address) => transferOf(address, block)));
      await anvil.call('anvil_mine', `0x${(BLOCKS_APART - 1).toString(16)}`);
    }
    provider = await ProviderGateway.start(anvil.rpcUrl);
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    ours = await ProgramOnChain.start({ folder, start, anvil, chain: { rpcUrls: [provider.url] } });
    caller = await CatcherCaller.signIn(ours.program.development);
  });
  afterAll(async () => {
    await ours.stop();
    await provider.stop();
  });

  const contractOf = (index: number): string => `0x${(0xc0de0000 + index).toString(16).padStart(40, '0')}`;
  const rangesIn = (body: string): string[] =>
    requestsIn(body)
      .filter(({ method, params: [filter] }) => method === 'eth_getLogs' && 'fromBlock' in (filter as object))
      .map(({ params }) => JSON.stringify(params));
  const limiting = (refuse: Refuse): ProviderGateway['answer'] => {
    [refused, answered] = [[], []];
    let second = 0;
    let taken = 0;
    return (body, honest) => {
      const now = Math.floor(performance.now() / 1_000);
      if (now !== second) [second, taken] = [now, 0];
      const ranges = rangesIn(body);
      taken += ranges.length;
      // The first one is refused in any case: a slow machine may never ask for so many.
      const isWithin = taken <= RANGES_A_SECOND && refused.length > 0;
      const isAnswered = ranges.length === 0 || isWithin;
      (isAnswered ? answered : refused).push(...ranges);
      return isAnswered ? honest() : Promise.resolve(refuse(body));
    };
  };

  it.each([
    ['with 429 and Retry-After', 0, refuseByStatus],
    ['with an error of JSON-RPC', CONTRACTS, refuseByError],
  ])('%s is asked more slowly, for as much at a time, and gives everything', async (_how, first, refuse) => {
    provider.answer = limiting(refuse);
    const contracts = Array.from({ length: CONTRACTS }, (_, at) => contractOf(first + at));
    for (const contract of contracts) expect((await caller.register(contract)).status).toBe(201);
    const faults = new Set<string>();
    for (const contract of contracts) {
      await caller.eventually(
        contract,
        ({ state, lastError }) => {
          if (lastError !== null) faults.add(lastError);
          return state === 'live';
        },
        'it must be live',
      );
      await caller.eventuallyAsOn(anvil, contract);
    }
    expect([...faults]).toEqual([]);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(answered.length);
    const areAskedAgain = () => refused.every((range) => answered.includes(range));
    await eventually(areAskedAgain, HAPPENS_WITHIN_MS, 'each range that was refused must be asked for again');
  });
});
