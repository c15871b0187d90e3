import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { id, zeroPadValue } from 'ethers';
import type { EventRecord } from '../../../../schemas/http/event-catcher/event-record.ts';
import type { RegisteredContract } from '../../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { WatchStatus } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import { BEACON_SLOT, IMPLEMENTATION_SLOT } from '../../../../shared/chain/state/eip-1967.ts';
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
import { ProviderGateway } from '../../../../shared/testing/chain/provider-gateway.ts';
import { Subscriber } from '../subscriber.socketio.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 60_000;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const SOMEBODY = `0x${'0'.repeat(24)}${'a1'.repeat(20)}`;
const inputs = [
  { name: 'from', type: 'address', indexed: true },
  { name: 'to', type: 'address', indexed: true },
  { name: 'value', type: 'uint256', indexed: false },
];
const transferAbi = { type: 'event', name: 'Transfer', anonymous: false, inputs };

describe('a registration on a chain', () => {
  let anvil: Anvil;
  let provider: ProviderGateway;
  let ours: ProgramOnChain<RunningProgram>;
  let caller: SignedIn;
  let contracts = 0;

  beforeAll(async () => {
    anvil = await Anvil.start(join(folder, 'chain'));
    provider = await ProviderGateway.start(anvil.rpcUrl);
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    ours = await ProgramOnChain.start({ folder, start, anvil, chain: { rpcUrls: [provider.url] } });
    caller = await signIn(ours.program.development);
  });
  beforeEach(() => {
    provider.answer = (_body, honest) => honest();
    provider.asked.length = 0;
  });
  afterAll(async () => {
    await ours.stop();
    await provider.stop();
  });

  const newContract = (): string => `0x${(0xc0de00 + (contracts += 1)).toString(16).padStart(40, '0')}`;
  const head = async (): Promise<number> => Number(await anvil.call('eth_blockNumber'));
  const transfer = (address: string, value: number): Promise<void> =>
    anvil.mine([{ address, topics: [TRANSFER, SOMEBODY, SOMEBODY], data: zeroPadValue(`0x0${String(value)}`, 32) }]);
  const get = async <Body>(path: string): Promise<Body> =>
    (await callUntilServed(ours.program.development.eventUrl + path, { headers: caller.bearer }))
      .body as unknown as Body;
  const register = (contractAddress: string, changes: object = {}, query = ''): Promise<Answered> =>
    callUntilServed(`${ours.program.development.eventUrl}/api/v1/contracts${query}`, {
      method: 'POST',
      headers: caller.bearer,
      body: {
        chainId: 2484,
        contractAddress,
        eventSignature: 'Transfer(address indexed,address indexed,uint256)',
        eventAbi: [transferAbi],
        startBlock: 0,
        ...changes,
      },
    });
  const registered = async (...asked: Parameters<typeof register>): Promise<RegisteredContract> => {
    const { status, body } = await register(...asked);
    expect([200, 201]).toContain(status);
    return body as unknown as RegisteredContract;
  };
  const status = (watch: RegisteredContract) =>
    get<WatchStatus>(`/api/v1/status/2484/${watch.contractAddress}/Transfer?watchId=${watch.id}`);
  const isLive = (watch: RegisteredContract) =>
    eventually(async () => (await status(watch)).state === 'live', HAPPENS_WITHIN_MS, 'it must be live');
  const recordsOf = async ({ contractAddress }: RegisteredContract, query: string): Promise<EventRecord[]> =>
    (await get<{ items: EventRecord[] }>(`/api/v1/events?chainId=2484&contractAddress=${contractAddress}${query}`))
      .items;
  const codeRequests = (): number => provider.asked.filter((body) => body.includes('eth_getCode')).length;

  it('begins where the contract was deployed, which takes few calls', async () => {
    await ours.mine(1_000);
    const contract = newContract();
    await transfer(contract, 7);
    const deployed = await head();
    await ours.mine(1_000);
    const watch = await registered(contract, { startBlock: 'deploy' });
    expect(watch.startBlock).toBeGreaterThanOrEqual(deployed - 1);
    expect(watch.startBlock).toBeLessThanOrEqual(deployed);
    // The search for earlier lives of the contract checks some 50 blocks.
    expect(codeRequests()).toBeLessThanOrEqual(Math.ceil(Math.log2(await head())) + 2 + 50);
    const found = async () => (await recordsOf(watch, '')).length === 1;
    await eventually(found, HAPPENS_WITHIN_MS, 'its log must be found');
  });

  it('says that nobody keeps the state where the contract was deployed, and its provider is trusted as before', async () => {
    const other = newContract();
    await transfer(other, 1);
    const watch = await registered(other);
    await isLive(watch);
    const pruned = { jsonrpc: '2.0', error: { code: -32_000, message: 'missing trie node 3f (path )' } };
    provider.answer = async (body, honest) => {
      const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: unknown[] };
      return method === 'eth_getCode' && params[1] !== 'latest' ? JSON.stringify({ ...pruned, id }) : honest();
    };
    provider.asked.length = 0;
    const refused = await register(other, { startBlock: 'deploy' });
    expect(refused).toMatchObject({ status: 422, body: { code: 'deploy_block_unknown' } });
    expect(codeRequests()).toBeLessThanOrEqual(2);
    await transfer(other, 2);
    const isFollowed = async () => (await recordsOf(watch, '')).length === 2;
    await eventually(isFollowed, HAPPENS_WITHIN_MS, 'it must be followed');
    await isLive(watch);
    expect(await status(watch)).toMatchObject({ lastError: null });
  });

  it('is tried out: nothing is watched, and what would be is shown', async () => {
    const contract = newContract();
    for (const value of [1, 2, 3]) await transfer(contract, value);
    const { status: answered, body } = await register(contract, {}, '?dryRun=true');
    expect(answered).toBe(200);
    const { sample, estimate, ...tried } = body as unknown as RegisteredContract;
    expect(sample?.map(({ Data }) => Data['value'])).toEqual(['1', '2', '3']);
    expect(estimate).toMatchObject({ blocks: (await head()) + 1, calls: expect.any(Number) });
    expect(await register(contract)).toMatchObject({
      status: 201,
      body: { ...tried, createdAt: expect.any(String) },
    });
  });

  it('says which contract a proxy runs, also one with a beacon', async () => {
    const [implementation, beacon] = ['0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045', newContract()];
    // A contract that always returns the address.
    await anvil.call('anvil_setCode', beacon, `0x73${implementation.slice(2)}60005260206000f3`);
    for (const [kind, slot, holds] of [
      ['eip1967', IMPLEMENTATION_SLOT, implementation],
      ['eip1967-beacon', BEACON_SLOT, beacon],
    ] as const) {
      const contract = newContract();
      await transfer(contract, 1);
      await anvil.call('anvil_setStorageAt', contract, slot, zeroPadValue(holds, 32));
      const { id: watchId, proxy } = await registered(contract);
      expect(proxy).toEqual({ kind, implementation });
      const shown = () => get<RegisteredContract>(`/api/v1/contracts/${watchId}`);
      expect(await eventually(async () => (await shown()).proxy, HAPPENS_WITHIN_MS, 'it must be shown')).toEqual(proxy);
    }
  });

  it('is the same by a text or a list of events, and by each form of its signature', async () => {
    const contract = newContract();
    const watch = await registered(contract);
    for (const eventSignature of [
      'event Transfer(address indexed from, address indexed to, uint256 value);',
      'Transfer(address indexed,address indexed,uint)',
      'Transfer(address,address,uint256)',
    ]) {
      for (const eventAbi of [JSON.stringify([transferAbi]), [transferAbi, { type: 'fallback' }]]) {
        expect(await registered(contract, { eventSignature, eventAbi })).toMatchObject({ id: watch.id });
      }
    }
    const unindexed = { ...transferAbi, inputs: inputs.map((input) => ({ ...input, indexed: false })) };
    const two = await register(contract, {
      eventSignature: 'Transfer(address,address indexed,uint256)',
      eventAbi: [transferAbi, unindexed],
    });
    expect(two).toMatchObject({ status: 422, body: { code: 'event_abi_mismatch' } });
  });

  it('has names that mean the same to a query, a status and a subscription', async () => {
    const contract = newContract();
    const short = { ...transferAbi, inputs: [inputs[0], { ...inputs[2], name: 'id' }] };
    const long = await registered(contract);
    const other = await registered(contract, {
      eventSignature: 'Transfer(address indexed,uint256)',
      eventAbi: [short],
    });
    // Both events have a log, so that the watch of a record tells which event was meant.
    const shortTopic = id('Transfer(address,uint256)');
    await anvil.mine([
      { address: contract, topics: [TRANSFER, SOMEBODY, SOMEBODY], data: zeroPadValue('0x07', 32) },
      { address: contract, topics: [shortTopic, SOMEBODY], data: zeroPadValue('0x08', 32) },
    ]);
    const areRead = async () => (await recordsOf(long, '')).length === 2;
    await eventually(areRead, HAPPENS_WITHIN_MS, 'both logs must be read');
    const { streamUrl } = ours.program.development;
    const { subscriber } = await Subscriber.connect(streamUrl, caller.accessToken);
    const meant = async (name: string) => {
      const records = await recordsOf(long, `&eventSignature=${encodeURIComponent(name)}`);
      const answer = (await subscriber.subscribe({
        chainId: 2484,
        contractAddress: contract,
        eventSignature: name,
      })) as unknown as { subscriptionId?: string; channel?: string; error?: { code: string } };
      if (answer.subscriptionId !== undefined) await subscriber.unsubscribe(answer.subscriptionId);
      const path = `/api/v1/status/2484/${contract}/${encodeURIComponent(name)}`;
      const found = await get<{ id?: string; code?: string }>(path);
      return {
        query: records.map(({ WatchId }) => WatchId),
        status: found.id ?? found.code,
        stream: [long.id, other.id].find((watchId) => answer.channel?.includes(watchId)) ?? answer.error?.code,
      };
    };
    const all = (watch: RegisteredContract) => ({ query: [watch.id], status: watch.id, stream: watch.id });
    for (const name of [
      'Transfer(address indexed,address indexed,uint256)',
      'Transfer(address,address,uint256)',
      'Transfer(address, address, uint)',
      'event Transfer(address indexed from, address indexed to, uint256 value);',
    ]) {
      expect(await meant(name)).toEqual(all(long));
    }
    expect(await meant('Transfer(address,uint256)')).toEqual(all(other));
    const both = { query: [long.id, other.id], status: 'validation_failed', stream: 'validation_failed' };
    expect(await meant('Transfer')).toEqual(both);
    const none = { query: [], status: 'watch_not_found', stream: 'watch_not_found' };
    for (const name of ['Approval', 'Transfer(address)', 'Transfer(address,address indexed,uint256)', 'Transfer(']) {
      expect(await meant(name)).toEqual(none);
    }
    subscriber.close();
  });
});
