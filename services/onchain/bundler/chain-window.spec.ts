import { beforeEach, describe, expect, it } from '@jest/globals';
import { SeededRandom } from '../../../shared/testing/simulation/seeded-random.ts';
import { SimulatedChain } from '../testing/simulated-chain/simulated-chain.ts';
import { CONTRACTS } from '../testing/simulated-chain/simulated-contracts.ts';
import { SimulatedNode } from '../testing/simulated-chain/simulated-node.ts';
import { ChainWindow } from './chain-window.ts';

const FINAL = 5;

describe('the window of a bundler', () => {
  let chain: SimulatedChain;
  let window: ChainWindow;
  const mine = (blocks: number) => {
    for (let block = 0; block < blocks; block += 1) chain.mine();
  };
  const poll = async () => {
    const { orphaned, added, apply } = await window.poll();
    apply();
    return [orphaned.map(({ number }) => number), added.map(({ number }) => number)];
  };
  beforeEach(async () => {
    const random = new SeededRandom(1);
    chain = new SimulatedChain({ ...CONTRACTS, random, genesisTime: 1_767_000_000 });
    mine(FINAL + 3 - chain.head.number);
    window = await ChainWindow.open(new SimulatedNode(chain, random), FINAL);
    await poll();
  });

  it('begins after its final block', () => {
    expect(window.upTo(Infinity).map(({ number }) => number)).toEqual([6, 7, 8]);
    expect(window.head.hash).toBe(chain.head.hash);
  });

  it('adds new blocks, and ignores a block that it contains', async () => {
    mine(2);
    expect(await poll()).toEqual([[], [9, 10]]);
    expect(await poll()).toEqual([[], []]);
  });

  it('follows a reorganisation of every block after the final one', async () => {
    chain.reorganise(3);
    mine(4);
    expect(await poll()).toEqual([
      [8, 7, 6],
      [6, 7, 8, 9],
    ]);
  });

  it('changes only once a change is applied', async () => {
    mine(1);
    const first = await window.poll();
    const again = await window.poll();
    expect(again.added).toEqual(first.added);
  });

  it('names the chain and the block of a reorganisation that is deeper than finality', async () => {
    chain.reorganise(4);
    mine(6);
    await expect(poll()).rejects.toThrow(
      `chain ${String(CONTRACTS.chainId)} reorganised its block ${String(FINAL)}, which was final`,
    );
  });

  it('forgets the blocks before a new final one', async () => {
    window.finalise(7);
    expect(window.upTo(Infinity).map(({ number }) => number)).toEqual([8]);
    chain.reorganise(1);
    mine(2);
    expect(await poll()).toEqual([[8], [8, 9]]);
  });
});
