import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../../schemas/json.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { callUntilServed, signIn, type SignedIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { userOpHash } from '../../../onchain/operations/domain/operation-hash.ts';
import { readOperation } from '../../../onchain/json-rpc/methods/operation-numbers.ts';
import { BundlerGateway, type AskedOperation } from './bundler-gateway.ts';
import { ProgramOnChain } from '../program-on-chain.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 60_000;
const TARGET = '0x00000000000000000000000000000000000B0d1E';
const { chainId } = Anvil;
const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);

describe('bundlers of others', () => {
  let anvil: Anvil;
  /** Another program, with an app, executors and a paymaster of its own on the same chain. */
  let other: ProgramOnChain<RunningProgram>;
  let ours: ProgramOnChain<RunningProgram>;
  let first: BundlerGateway;
  let second: BundlerGateway;
  let sender: SignedIn;

  beforeAll(async () => {
    anvil = await Anvil.start(join(folder, 'chain'));
    other = await ProgramOnChain.start({ folder: join(folder, 'other'), start, anvil });
    await other.prepare();
    const { accountUrl, app } = other.program.development;
    const { bearer } = await signIn(other.program.development);
    const behind = { url: `${accountUrl}/rpc?chainID=${String(chainId)}&apiKey=${app.apiKey}`, headers: bearer };
    first = await BundlerGateway.start(behind);
    second = await BundlerGateway.start(behind);
    const chain = { bundlerUrls: [first.url, second.url] };
    ours = await ProgramOnChain.start({ folder: join(folder, 'ours'), start, anvil, chain });
    await ours.prepare();
    await ours.setPolicy();
    sender = await signIn(ours.program.development);
  });
  beforeEach(() => {
    for (const bundler of [first, second]) {
      bundler.given.length = 0;
      bundler.answer = () => undefined;
    }
  });
  afterAll(async () => {
    await ours.program.stop();
    await other.stop();
    await Promise.all([first.stop(), second.stop()]);
  });

  const get = async (path: string): Promise<JsonObject> =>
    (await callUntilServed(ours.program.development.accountUrl + path, { headers: sender.bearer })).body;
  /** Sends an operation, and returns a function that reads its status. */
  const send = async (): Promise<() => Promise<JsonObject>> => {
    const body = { chainId, sponsor: true, transactionReq: { to: TARGET } };
    const url = `${ours.program.development.accountUrl}/onchain/send`;
    const answer = await callUntilServed(url, { method: 'POST', body, headers: sender.bearer });
    expect(answer.status).toBe(201);
    return () => get(`/onchain/transactions/${answer.body['id'] as string}`);
  };
  const isIncluded = (look: () => Promise<JsonObject>) =>
    eventually(async () => (await look())['status'] === 'included', HAPPENS_WITHIN_MS, 'it must be included');
  const hashOf = (operation: AskedOperation, { entryPoint }: JsonObject) =>
    userOpHash(readOperation(operation as never), entryPoint as string, chainId);

  it('are given the same signed operation, the next where one fails, and none of our executors sends anything', async () => {
    first.answer = () => ({ error: { code: -32_603, message: 'out of order' } });
    const look = await send();
    await isIncluded(look);
    expect(first.given).toHaveLength(1);
    expect(second.given).toEqual(first.given);
    const executors = async (program: typeof ours) => (await program.chainState()).executors.map(({ nonce }) => nonce);
    expect(Math.max(...(await executors(ours)))).toBe(0);
    expect(Math.max(...(await executors(other)))).toBe(1);
    await anvil.call('anvil_mine', '0x4');
    await eventually(async () => (await look())['status'] === 'final', HAPPENS_WITHIN_MS, 'it must be final');
    const { id } = ours.program.development.app;
    const sponsorship = JSON.parse(await ours.annals('app', 'sponsorship', id, '--json')) as JsonObject;
    expect(sponsorship['chains']).toMatchObject([{ reserved: '0', operations: 1 }]);
    expect(await get('/universal-account')).toMatchObject({ status: 'ok', chains: [{ bundler: first.host }] });
    expect(ours.program.output).toMatch(/a bundler failed: the next is tried/);
    expect(ours.program.output).not.toMatch(/password/);
  });

  it('are given it, the next where one has taken it and no block has it after 15 s', async () => {
    let chain: JsonObject = {};
    first.answer = (operation) => ({ result: hashOf(operation, chain) });
    [chain] = (await get('/universal-account'))['chains'] as [JsonObject];
    const from = performance.now();
    const look = await send();
    await isIncluded(look);
    // Measured from the request on, so that a slow answer does not count against it.
    expect(performance.now() - from).toBeGreaterThan(14_000);
    expect(first.given).toHaveLength(1);
    expect(second.given).toEqual(first.given);
    expect(await look()).toMatchObject({ userOpHash: hashOf(second.given[0] ?? {}, chain) });
  });

  it('are given it again that refuse it, which waits with the reason', async () => {
    const refuses = () => ({ error: { code: -32_508, message: 'AA31 paymaster deposit too low' } });
    first.answer = refuses;
    second.answer = refuses;
    const look = await send();
    await eventually(
      async () => {
        const { status, history } = await look();
        const reasons = (history as { reason?: string }[]).map(({ reason }) => reason);
        return status === 'submitted' && reasons.includes('AA31 paymaster deposit too low');
      },
      HAPPENS_WITHIN_MS,
      'it must wait, and say why',
    );
    first.answer = () => undefined;
    second.answer = () => undefined;
    await isIncluded(look);
    expect(new Set([...first.given, ...second.given].map(({ signature }) => signature)).size).toBe(1);
  });
});
