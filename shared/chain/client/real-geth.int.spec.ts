import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LOCAL_FINAL_DEPTH } from '../../local-chain/local-chain-process.ts';
import { EMITTER, emitting } from '../../testing/chain/emitter.ts';
import { startTestChain } from '../../testing/chain/start-test-chain.ts';
import type { TestChain } from '../../testing/chain/test-chain.ts';
import { whereServer } from '../../testing/engines/servers.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { ChainUnavailable, StateUnavailable } from '../chain-reader.ts';
import { BLOOM_OF_EVERYTHING } from '../bloom.ts';
import { LatestState } from '../state/latest-state.ts';
import { ChainClient } from './chain-client.ts';
import { JsonRpcChainReader } from './chain-reader.json-rpc.ts';

const ANY = { addresses: [], topics: [] };
const ANSWERS_WITHIN_MS = 60_000;
/** geth keeps the state of some 128 blocks. */
const FORGOTTEN_AFTER = 150;
const numbered = (at: number): string => `0x${at.toString(16).padStart(40, '0')}`;
const note = { topics: [`0x${'ab'.repeat(32)}`], data: '0x0102' };

whereServer('GETH', () => {
  const folder = temporaryFolder();
  let chain: TestChain;
  let client: ChainClient;
  let reader: JsonRpcChainReader;
  let emitter: string;
  beforeAll(async () => {
    chain = await startTestChain(folder);
    client = new ChainClient(chain.chainId, [chain.rpcUrl]);
    reader = new JsonRpcChainReader(client);
    emitter = (await chain.deploy(EMITTER)).toLowerCase();
  });
  afterAll(async () => {
    reader.close();
    await chain.stop();
  });

  /** Mines one block with this number of logs. */
  const mineLogs = async (count: number): Promise<void> => {
    await chain.setAutomine(false);
    for (let sent = 0; sent < count; sent += 1) await chain.send({ to: emitter, ...emitting(note) });
    await chain.mineBlocks(1);
  };

  it('a node without a final block beyond the first answers that the first is final', async () => {
    const { finalized } = await reader.headAndFinalized();
    expect(finalized).toMatchObject({ number: 0 });
  });

  it('the finalized and the safe block are those that its consensus client named', async () => {
    await chain.mineBlocks(20);
    const { head, finalized } = await reader.headAndFinalized();
    expect(head).toEqual(await reader.head());
    expect(finalized?.number).toBe(head.number - LOCAL_FINAL_DEPTH);
    expect(await reader.headersByNumber([head.number - LOCAL_FINAL_DEPTH])).toEqual([finalized]);
    const safe = new JsonRpcChainReader(client, { finalName: 'safe' });
    expect((await safe.headAndFinalized()).finalized?.number).toBe(head.number - LOCAL_FINAL_DEPTH / 2);
  });

  it('a range of logs beyond the head is refused as not yet there', async () => {
    const { number } = await reader.head();
    await expect(reader.logsOfRange(number, number + 5, ANY)).rejects.toBeInstanceOf(ChainUnavailable);
    await expect(reader.logsOfRange(number + 1, number + 1, ANY)).rejects.toBeInstanceOf(ChainUnavailable);
    expect(await reader.logsOfRange(number, number, ANY)).toEqual([]);
  });

  it('the logs of an unknown block are refused, and so are those of a block that a reorganisation removed', async () => {
    await mineLogs(3);
    const removed = await reader.head();
    expect(await reader.logsOfBlock(removed, ANY)).toHaveLength(3);
    const unknown = { ...removed, hash: `0x${'77'.repeat(32)}`, logsBloom: BLOOM_OF_EVERYTHING };
    await expect(reader.logsOfBlock(unknown, ANY)).rejects.toBeInstanceOf(ChainUnavailable);
    await chain.rollBack(1);
    await chain.mineBlocks(1);
    const { number, hash } = await reader.head();
    expect([number, hash === removed.hash]).toEqual([removed.number, false]);
    expect(await reader.headerByHash(removed.hash)).toBeUndefined();
    await expect(reader.logsOfBlock(removed, ANY)).rejects.toBeInstanceOf(ChainUnavailable);
    expect(await reader.logsOfRange(number, number, ANY)).toEqual([]);
  });

  it('the logs of more than 1,000 addresses are read in several requests', async () => {
    await mineLogs(2);
    const { number } = await reader.head();
    const addresses = [...Array.from({ length: 2_500 }, (_, at) => numbered(at + 1)), emitter];
    const asked = chain.call('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest', address: addresses });
    await expect(asked).rejects.toThrow('exceed max addresses');
    const logs = await reader.logsOfRange(0, number, { addresses, topics: note.topics });
    expect(logs.map(({ address, blockNumber, data }) => [address, blockNumber, data])).toEqual(
      Array(2).fill([emitter, number, note.data]),
    );
  });

  it('the state of an old block is forgotten, while that of the head is there', async () => {
    const { number } = await reader.head();
    expect(await reader.hasCode(emitter, number)).toBe(true);
    await chain.mineBlocks(FORGOTTEN_AFTER);
    await expect(reader.hasCode(emitter, number)).rejects.toBeInstanceOf(StateUnavailable);
    expect(await reader.hasCode(emitter, number + FORGOTTEN_AFTER - 10)).toBe(true);
    expect(await reader.hasCode(emitter)).toBe(true);
    const state = new LatestState(client, ANSWERS_WITHIN_MS);
    expect(await state.account(emitter)).toEqual({ wei: 0n, hasCode: true });
    expect(await state.headBlock()).toBe(number + FORGOTTEN_AFTER);
  });
});
