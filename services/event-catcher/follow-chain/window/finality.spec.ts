import { describe, expect, it } from '@jest/globals';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import type { ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { overriding } from '../../testing/overriding.ts';
import { Finality } from './finality.ts';

const clock = { ms: 0, elapsed: () => clock.ms };
const SETTINGS = { finality: 'finalized', confirmations: 12, isDevelopment: false } as const;
const finalityOf = (
  finalizedDepth: number | undefined,
  isDevelopment = false,
  storedDepth = 0,
  named: 'finalized' | number = 'finalized',
) => {
  const chain = new MemoryChain(1);
  chain.finalizedDepth = finalizedDepth;
  for (let block = 1; block <= 40; block += 1) chain.mine([]);
  return { chain, finality: new Finality(chain, { ...SETTINGS, isDevelopment, finality: named }, storedDepth, clock) };
};
const isAskedFor = (call: string) => call === 'headAndFinalized';

describe('the newest final block', () => {
  it('is as deep as the settings say, on a chain without a finalized block, and on a development chain', async () => {
    for (const { finality, chain } of [finalityOf(undefined), finalityOf(3, true)]) {
      expect(await finality.head()).toEqual(chain.tip);
      expect(finality.at(40)).toEqual({ number: 28 });
      expect(finality.at(5)).toEqual({ number: 0 });
      expect(chain.calls).toEqual([chain.finalizedDepth === undefined ? 'headAndFinalized' : 'head']);
    }
  });

  it('is as deep as the settings say where they say it, whatever the chain calls final', async () => {
    const { finality, chain } = finalityOf(3, false, 30, 7);
    expect(await finality.head()).toEqual(chain.tip);
    expect([finality.at(40), finality.at(5), chain.calls]).toEqual([{ number: 33 }, { number: 0 }, ['head']]);
  });

  it.each([
    ['16 blocks, if one of them needed no logs', true, 16],
    ['64 blocks, if all of them had logs', false, 64],
  ])('is the finalized block, however deep, asked for with the head once in %s', async (_, isSpared, every) => {
    const { chain, finality } = finalityOf(30);
    await finality.head();
    expect(finality.at(40)).toMatchObject({ number: 10, hash: chain.headers[10]?.hash });
    for (let block = 41; block <= 40 + every; block += 1) {
      chain.mine([]);
      expect(await finality.head()).toEqual(chain.tip);
      expect(finality.at(block).number).toBe(block < 40 + every ? 10 : 10 + every);
      if (isSpared && block === 45) finality.spareCall();
    }
    expect(chain.calls.filter(isAskedFor)).toHaveLength(2);
    expect(chain.calls).toHaveLength(1 + every);
    chain.mine([]);
    await finality.head();
    expect(chain.calls.at(-1)).toBe('head');
  });

  it('is asked for at once where the head is 16 blocks ahead of the last one', async () => {
    const { chain, finality } = finalityOf(30);
    await finality.head();
    for (let block = 0; block < 16; block += 1) chain.mine([]);
    await finality.head();
    expect(finality.at(56).number).toBe(26);
  });

  it('is not what a provider of another chain once said, and is asked for again at once', async () => {
    const { chain, finality } = finalityOf(30);
    await finality.head();
    const elsewhere = { ...chain.tip, number: 5_000_000, hash: `0x${'77'.repeat(32)}` };
    let isElsewhere = true;
    const misrouted = new Finality(
      overriding<ChainReader>(chain, {
        headAndFinalized: () =>
          isElsewhere
            ? Promise.resolve({ head: elsewhere, finalized: { ...elsewhere, number: 4_999_970 } })
            : chain.headAndFinalized(),
      }),
      SETTINGS,
      0,
      clock,
    );
    await misrouted.head();
    isElsewhere = false;
    expect(misrouted.at(40)).toEqual({ number: 0 });
    chain.calls.length = 0;
    expect(await misrouted.head()).toEqual(chain.tip);
    expect(misrouted.at(40).number).toBe(10);
    expect(chain.calls).toEqual(['head', 'headAndFinalized']);
  });

  it('is 1,024 blocks deep, for an hour, where what is stored is deeper than the settings say, and the finalized block is missing', async () => {
    clock.ms = 5_000;
    const { chain, finality } = finalityOf(undefined, false, 13);
    await finality.head();
    expect([finality.at(40).number, finality.at(1_034).number]).toEqual([0, 10]);
    clock.ms += 3_599_999;
    expect(finality.at(1_034).number).toBe(10);
    clock.ms += 1;
    expect(finality.at(1_034).number).toBe(1_022);
    chain.finalizedDepth = 20;
    for (let block = 41; block <= 57; block += 1) chain.mine([]);
    await finality.head();
    expect(finality.at(57).number).toBe(37);
    const byDepth = finalityOf(undefined, false, 12).finality;
    await byDepth.head();
    expect(byDepth.at(40).number).toBe(28);
    const ofDevelopment = finalityOf(undefined, true, 13).finality;
    await ofDevelopment.head();
    expect(ofDevelopment.at(40).number).toBe(28);
  });

  it('is 1,024 blocks deep where the finalized block is older than that', async () => {
    const { finality } = finalityOf(30);
    await finality.head();
    expect(finality.at(1_034).number).toBe(10);
    expect(finality.at(1_035)).toEqual({ number: 11 });
  });
});
