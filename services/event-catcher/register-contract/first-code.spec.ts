import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ChainUnavailable, RangeTooLarge, StateUnavailable } from '../../../shared/chain/chain-reader.ts';
import { DeployingChain, HEAD, TOKEN } from '../testing/routes/catcher-fixtures.ts';
import { overriding } from '../testing/overriding.ts';
import { CodeHistory } from './first-code.ts';

const CONTRACT = TOKEN.toLowerCase();
const WITHIN_MS = 5_000;
const ANY = { addresses: [], topics: [] };

describe('the first block in which an address had code', () => {
  let chain: DeployingChain;
  beforeEach(() => {
    chain = new DeployingChain();
  });

  const find = async (head = HEAD, on: ConstructorParameters<typeof CodeHistory>[0] = chain) => {
    const hasCode = await on.hasCode(CONTRACT, head);
    return new CodeHistory(on, CONTRACT, performance.now() + WITHIN_MS).findFirst(head, hasCode);
  };
  /** Mines empty blocks up to this one. */
  const mineTo = (head: number): void => {
    for (let block = HEAD; block < head; block += 1) chain.mine([]);
  };
  const lives = (...some: [number, number][]): void => {
    chain.lives.set(CONTRACT, some);
  };

  it('is that of its first life, wherever the later ones are: of 24 blocks each is looked into', async () => {
    const life = fc.tuple(fc.nat(24), fc.nat(24)).map(([one, other]): [number, number] => {
      return one < other ? [one, other] : [other, one];
    });
    await fc.assert(
      fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 4 }), async (some) => {
        lives(...some);
        expect(await find(24)).toEqual({ block: Math.min(...some.map(([from]) => from)), isCertain: true });
      }),
    );
  });

  it('is none of a contract that never had code', async () => {
    lives();
    expect(await find()).toEqual({ block: undefined, isCertain: true });
  });

  it('is found by a log of a life that no look met, be it within one block', async () => {
    mineTo(2_000);
    chain.mine([{ address: CONTRACT, topics: [], data: '0x' }]);
    const inOneBlock = 2_001;
    for (let block = inOneBlock; block < 4_000; block += 1) chain.mine([]);
    lives([3_000, Infinity]);
    expect(await find(4_000)).toEqual({ block: inOneBlock, isCertain: true });
    lives([inOneBlock - 7, inOneBlock + 3], [3_000, Infinity]);
    expect(await find(4_000)).toEqual({ block: inOneBlock - 7, isCertain: true });
  });

  it.each([RangeTooLarge, ChainUnavailable, StateUnavailable])(
    'is uncertain where earlier logs are not answered: %p',
    async (Failure) => {
      chain.logsFailure = () => new Failure('at most 1000 blocks');
      mineTo(4_000);
      lives([1_000, 1_500], [3_000, Infinity]);
      expect(await find(4_000)).toEqual({ block: 1_000, isCertain: false });
      lives();
      expect(await find(4_000)).toEqual({ block: undefined, isCertain: false });
    },
  );

  it('is uncertain where the state before it is not kept, and unknown where that of its beginning is not', async () => {
    mineTo(4_000);
    lives([3_000, Infinity]);
    chain.stateFrom = 2_000;
    expect(await find(4_000)).toEqual({ block: 3_000, isCertain: false });
    chain.stateFrom = 3_001;
    await expect(find(4_000)).rejects.toThrow(StateUnavailable);
  });

  it('is uncertain where nothing is answered in the time for earlier lives', async () => {
    const silent = overriding(chain, { logsOfRange: () => new Promise<never>(() => undefined) });
    const history = new CodeHistory(silent, CONTRACT, performance.now() + 600_000, 20);
    expect(await history.findFirst(HEAD, true)).toEqual({ block: 7, isCertain: false });
  });

  it('is uncertain after eight lives', async () => {
    chain.mine([{ address: CONTRACT, topics: [], data: '0x' }]);
    const [log] = await chain.logsOfRange(HEAD, HEAD + 1, ANY);
    const everywhere = overriding(chain, {
      logsOfRange: (_, to) => Promise.resolve(log ? [{ ...log, blockNumber: to }] : []),
    });
    lives();
    expect(await find(HEAD, everywhere)).toEqual({ block: HEAD - 8, isCertain: false });
  });

  it('takes 25 looks for a chain of millions of blocks, some 50 for earlier lives, and few requests of logs', async () => {
    const millions = 20_000_000;
    const ranges: [number, number][] = [];
    const large = overriding(chain, {
      logsOfRange: (from, to) => {
        ranges.push([from, to]);
        return Promise.resolve([]);
      },
    });
    lives([millions - 123, Infinity]);
    expect(await find(millions, large)).toEqual({ block: millions - 123, isCertain: true });
    expect(chain.calls).toBeLessThan(25 + 50 + 1);
    expect(ranges.length).toBeLessThan(9);
    expect(ranges.at(-1)?.[0]).toBe(0);
  });

  it('passes on what is a defect', async () => {
    chain.logsFailure = () => new Error('a defect');
    await expect(find()).rejects.toThrow('a defect');
  });
});
