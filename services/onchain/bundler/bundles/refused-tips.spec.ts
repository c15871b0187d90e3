import { beforeEach, describe, expect, it } from '@jest/globals';
import { transactionStream } from '../../../../schemas/events/onchain/transaction-events.ts';
import { ChainUnavailable } from '../../../../shared/chain/chain-reader.ts';
import { WaitingOperations } from '../../testing/bundler-simulation/waiting-operations.ts';
import { EXECUTORS } from '../../testing/simulated-chain/simulated-contracts.ts';
import { named } from '../../testing/simulated-chain/simulated-state.ts';

const GWEI = 10n ** 9n;
const SENDS = 40;

describe('a bundle whose tip a node refuses', () => {
  let waiting: WaitingOperations;
  let before: bigint[];
  const balances = () => EXECUTORS.map(({ address }) => waiting.chain.state.get(named.wei(address)));
  beforeEach(async () => {
    waiting = new WaitingOperations();
    await waiting.send(SENDS);
    before = balances();
  });

  const submissionOf = async (id: string) => (await waiting.store.read(transactionStream(id)))[0]?.data ?? {};
  const tipOf = async (id: string): Promise<bigint> => {
    const { operation } = await submissionOf(id);
    return BigInt((operation as { maxPriorityFeePerGas: string }).maxPriorityFeePerGas);
  };
  const reasonsOf = async (id: string) =>
    (await waiting.store.read(transactionStream(id))).flatMap(({ data }) => data['reason'] ?? []);
  /** The transactions of operations whose tip the caller chose, and of the others. */
  const sorted = async (): Promise<{ chosen: string[]; others: string[] }> => {
    const submissions = await Promise.all(waiting.ids.map(submissionOf));
    const isChosen = (at: number) => submissions[at]?.['hasChosenTip'] === true;
    return {
      chosen: waiting.ids.filter((_, at) => isChosen(at)),
      others: waiting.ids.filter((_, at) => !isChosen(at)),
    };
  };
  const run = async (blocks: number): Promise<void> => {
    await waiting.begin({ resigner: waiting.senders });
    await waiting.blocks(blocks, GWEI);
  };
  const costNothing = () => {
    for (const [at, wei] of balances().entries()) expect(wei).toBeGreaterThanOrEqual(before[at] ?? 0n);
  };

  it('is withdrawn; operations are signed again with the tip that the node names, unless the caller chose theirs', async () => {
    const { chosen, others } = await sorted();
    expect(chosen.length).toBeGreaterThan(0);
    waiting.chain.pool.leastTip = 5n * GWEI;
    await run(2);
    // The next process reads what was signed again.
    await run(4);
    const ends = await Promise.all(others.map((id) => waiting.eventsOf(id)));
    for (const events of ends) expect(events).toEqual(['TxSubmitted', 'TxReplaced']);
    const reason = 'its tip is below the least that the nodes of this chain take, 5000000000 wei a gas';
    for (const id of chosen) expect(await reasonsOf(id)).toEqual([reason]);
    expect(await waiting.storedOf('BundleWithdrawn')).not.toEqual([]);
    expect(await waiting.storedOf('BundleReplaced')).toEqual([]);
    expect(waiting.logged).toEqual([]);
    costNothing();
  });

  it('is withdrawn also if the node does not say which tip it takes, and its operations wait with the reason', async () => {
    Object.assign(waiting.chain.pool, { leastTip: 5n * GWEI, namesLeastTip: false });
    await run(20);
    for (const id of waiting.ids)
      expect(await reasonsOf(id)).toContain('the node refuses its bundle: transaction underpriced');
    expect(await waiting.storedOf('BundleReplaced')).toEqual([]);
    costNothing();
    waiting.chain.pool.leastTip = 0n;
    await waiting.blocks(60, GWEI);
    for (const id of waiting.ids) expect(await waiting.eventsOf(id)).toContain('TxFinalized');
  });

  it('offers as much as its operations do, before these wait at a node that names no tip', async () => {
    Object.assign(waiting.chain.pool, { leastTip: 2n * GWEI, namesLeastTip: false });
    await run(60);
    const tips = await Promise.all(waiting.ids.map(tipOf));
    for (const [at, id] of waiting.ids.entries()) {
      const isFinal = (await waiting.eventsOf(id)).includes('TxFinalized');
      expect([tips[at], isFinal]).toEqual([tips[at], (tips[at] ?? 0n) >= 2n * GWEI]);
    }
    expect(new Set(tips).size).toBe(3);
    costNothing();
  });

  it('is withdrawn at last if a node that did not answer may have the bundle, and costs nothing then', async () => {
    const { chain } = waiting;
    chain.pool.leastTip = 25n * GWEI;
    const send = chain.send.bind(chain);
    chain.send = () => {
      chain.send = send;
      throw new ChainUnavailable('no answer');
    };
    const bundler = await waiting.begin({ resigner: waiting.senders });
    await expect(bundler.step()).rejects.toThrow('no answer');
    await waiting.blocks(20, GWEI);
    expect(await waiting.storedOf('BundleWithdrawn')).not.toEqual([]);
    expect(await waiting.storedOf('BundleReplaced')).toEqual([]);
    costNothing();
  });

  it('is withdrawn also by a process that does not know whether an earlier one sent the bundle', async () => {
    await waiting.bundles();
    waiting.chain.pool.forgetAll();
    waiting.chain.pool.leastTip = 25n * GWEI;
    await run(20);
    expect(await waiting.storedOf('BundleWithdrawn')).not.toEqual([]);
    expect(await waiting.storedOf('BundleReplaced')).toEqual([]);
    costNothing();
  });
});

describe('a tip that a large bundle cannot pay', () => {
  it('is paid by smaller bundles: nodes take no transaction whose fee is above 1 ether', async () => {
    const waiting = new WaitingOperations({ gasOf: () => ({ verification: 200_000n, execution: 90_000n }) });
    waiting.chain.pool.leastTip = 90n * GWEI;
    await waiting.send(50);
    const resigner = waiting.senders;
    await waiting.begin({ resigner });
    await waiting.blocks(2, GWEI);
    await waiting.begin({ resigner });
    await waiting.blocks(20, GWEI);
    const mined = await waiting.storedOf('BundleMined');
    expect(mined.length).toBeGreaterThan(1);
    // Only the first bundle had a tip that no node takes.
    expect(await waiting.storedOf('BundleWithdrawn')).toHaveLength(2);
  });
});
