import { describe, expect, it } from '@jest/globals';
import { MemoryChain } from '../../../shared/chain/chain-reader.memory.ts';
import { Finality } from './finality.ts';

const finalityOf = (finalizedDepth: number | undefined, isDevelopment = false) => {
  const chain = new MemoryChain(1);
  chain.finalizedDepth = finalizedDepth;
  for (let block = 1; block <= 40; block += 1) chain.mine([]);
  return { chain, finality: new Finality(chain, { confirmations: 12, isDevelopment }) };
};

describe('the newest final block', () => {
  it('is as deep as the settings say, on a chain without a finalized block, and on a development chain', async () => {
    for (const { finality, chain } of [finalityOf(undefined), finalityOf(3, true)]) {
      await finality.look(40);
      expect(finality.at(40)).toEqual({ number: 28 });
      expect(finality.at(5)).toEqual({ number: 0 });
      expect(chain.calls).toHaveLength(chain.finalizedDepth === undefined ? 1 : 0);
    }
  });

  it('is the finalized block, however deep, asked for once in 16 blocks', async () => {
    const { chain, finality } = finalityOf(30);
    await finality.look(40);
    expect(finality.at(40)).toMatchObject({ number: 10, hash: chain.headers[10]?.hash });
    for (let block = 41; block <= 56; block += 1) {
      chain.mine([]);
      await finality.look(block);
      expect(finality.at(block).number).toBe(block < 56 ? 10 : 26);
    }
    expect(chain.calls).toEqual(['finalized', 'finalized']);
  });

  it('is 1,024 blocks deep where the finalized block is older than that', async () => {
    const { finality } = finalityOf(30);
    await finality.look(40);
    expect(finality.at(1_034).number).toBe(10);
    expect(finality.at(1_035)).toEqual({ number: 11 });
  });
});
