import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { keccak256 } from 'ethers';
import { pino } from 'pino';
import { chainEventsStream } from '../../../schemas/events/event-catcher/chain-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { ChainClient } from '../../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../../shared/chain/client/chain-reader.json-rpc.ts';
import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { EMITTER, emitting } from '../../../shared/testing/chain/emitter.ts';
import { startTestChain } from '../../../shared/testing/chain/start-test-chain.ts';
import type { TestChain } from '../../../shared/testing/chain/test-chain.ts';
import { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import { whereServer } from '../../../shared/testing/engines/servers.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { changesIn } from '../domain/observed-records.ts';
import { following, followSettings } from '../testing/follower/following.ts';

const FOLLOWS_WITHIN_MS = 60_000;
const signature = 'Counted(uint256)';
const topic0 = keccak256(Buffer.from(signature));

interface RawLog {
  blockHash: string;
  transactionHash: string;
  logIndex: string;
}

whereServer('GETH', () => {
  const folder = temporaryFolder();
  const store = new MemoryEventStore();
  let chain: TestChain;
  let reader: JsonRpcChainReader;
  let contract: string;
  let loop: SupervisedLoop;
  let counted = 0;
  beforeAll(async () => {
    chain = await startTestChain(folder);
    await chain.setAutomine(false);
    reader = new JsonRpcChainReader(new ChainClient(chain.chainId, [chain.rpcUrl]));
    contract = await chain.deploy(EMITTER);
    const watch = {
      ...eventExamples.ContractRegistered,
      ...{ chainId: chain.chainId, contractAddress: contract, startBlock: 0, topic0 },
      ...{ eventName: 'Counted', eventSignature: signature },
      fragment: { name: 'Counted', anonymous: false, inputs: [{ name: 'value', type: 'uint256', indexed: false }] },
    };
    await store.append('watch-counted', -1, [anEvent({ type: 'ContractRegistered', data: watch })]);
  });
  afterAll(async () => {
    await loop.stop();
    reader.close();
    await chain.stop();
  });

  const start = () => {
    const follow = following(followSettings({ chainId: chain.chainId, pollMs: 10, pollMsMax: 10 }), {
      eventStore: store,
      reader,
    });
    const term = { nothingInFlightBefore: true, leavesInFlight: false };
    loop = new SupervisedLoop('follower', pino({ level: 'silent' }), (signal, reportRunning) =>
      follow(signal, reportRunning, term),
    );
    loop.start();
  };
  /** Mines blocks with zero, one and two logs in turn, each with another number. */
  const mine = async (blocks: number): Promise<void> => {
    for (let block = 0; block < blocks; block += 1) {
      for (let log = 0; log < block % 3; log += 1) {
        counted += 1;
        const data = `0x${counted.toString(16).padStart(64, '0')}`;
        await chain.send({ to: contract, ...emitting({ topics: [topic0], data }) });
      }
      await chain.mineBlocks(1);
    }
  };
  const changes = async () => changesIn(await store.read(chainEventsStream(chain.chainId, contract)));
  /** The ids of the records that are not reverted, in the order in which they were observed. */
  const records = async (): Promise<string[]> => {
    const alive = new Set<string>();
    for (const { type, data } of await changes()) {
      const isRepeated = alive.has(data.Id) === (type === 'ChainEventObserved');
      if (isRepeated) throw new Error(`${type} of ${data.Id} is stored twice`);
      if (type === 'ChainEventObserved') alive.add(data.Id);
      else alive.delete(data.Id);
    }
    return [...alive];
  };
  const logsOnChain = async (): Promise<string[]> => {
    const logs = (await chain.call('eth_getLogs', {
      ...{ fromBlock: '0x0', toBlock: 'latest' },
      ...{ address: contract, topics: [topic0] },
    })) as RawLog[];
    return logs.map(({ blockHash, transactionHash, logIndex }) =>
      [chain.chainId, blockHash, transactionHash, Number(logIndex)].join(':'),
    );
  };
  const recordsAreTheLogs = () =>
    eventually(
      async () => (await records()).join() === (await logsOnChain()).join(),
      FOLLOWS_WITHIN_MS,
      'the records must be the logs of the chain',
    );
  const reverted = async () => (await changes()).filter(({ type }) => type === 'ChainEventReverted').length;

  it('a catcher follows geth through reorganisations: while it runs, to a shorter chain, and while it is stopped', async () => {
    await mine(30);
    start();
    await recordsAreTheLogs();
    await mine(6);
    await recordsAreTheLogs();
    expect(await reverted()).toBe(0);

    await chain.rollBack(6);
    await mine(8);
    await recordsAreTheLogs();
    expect(await reverted()).toBe(6);

    await chain.rollBack(8);
    await mine(5);
    await recordsAreTheLogs();
    expect(await reverted()).toBe(13);

    await loop.stop();
    await chain.rollBack(5);
    await mine(11);
    start();
    await recordsAreTheLogs();
    expect(await reverted()).toBe(17);

    await chain.mineBlocks(30);
    await mine(3);
    await recordsAreTheLogs();
    expect(await records()).toEqual(await logsOnChain());
    expect(await records()).toHaveLength(30 + 10 + 3);
  });
});
