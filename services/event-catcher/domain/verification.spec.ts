import { describe, expect, it } from '@jest/globals';
import {
  addReplays,
  initialVerification,
  leaveBehind,
  nextOfAll,
  nextOfBehind,
  nextOfReplay,
  readUpTo,
  skip,
  verify,
  verifyAgainAfter,
  verifyFrom,
  type Verification,
} from './verification.ts';

const watch = (id: string, startBlock = 0) => ({ id, startBlock });
const behind = (id: string, next: number) => ({ ...watch(id), watchId: id, next });
const at = (changes: Partial<Verification>): Verification => ({ ...initialVerification, watchesUpTo: 3, ...changes });
const nextOf = (watchId: string, next: number) => ({ watchId, next });
const part = (watchId: string, first: number, to: number) => ({ watchId, next: first, to });
const everything = () => 1_000;

describe('how far a chain is verified', () => {
  it('puts what is registered with earlier blocks behind, and an extended watch to where it begins now', () => {
    const verified = at({ verified: 50, behind: [nextOf('old', 40)] });
    const watches = [watch('new', 10), watch('later', 51), watch('old', 5), watch('new', 8)];
    const behind = [nextOf('old', 5), nextOf('new', 8)];
    expect(verifyFrom(verified, watches, 9)).toEqual(at({ verified: 50, behind, watchesUpTo: 9 }));
  });

  it('goes on with what became final, and leaves behind what was not read or is stopped', () => {
    const reach = ({ id }: { id: string }, from: number) => (id === 'paused' ? from - 1 : id === 'slow' ? 55 : 99);
    const watches = [watch('a'), watch('paused'), watch('slow', 53), watch('future', 61)];
    const next = nextOfAll(at({ verified: 50 }), watches, { final: 60, blocks: 100, reach });
    const left = [watch('paused'), watch('slow', 53)];
    expect(next).toEqual({ from: 51, to: 60, watches: [watch('a')], left, isReplay: false });
    if (!next) throw new Error('there are final blocks');
    expect(verify(at({ verified: 50 }), next)).toEqual(
      at({ verified: 60, behind: [nextOf('paused', 51), nextOf('slow', 53)] }),
    );
  });

  it('passes over blocks in which no watch has begun, and has nothing to do without final blocks', () => {
    const bounds = { final: 60, blocks: 5, reach: everything };
    expect(nextOfAll(at({ verified: 50 }), [], bounds)).toMatchObject({ from: 51, to: 60, watches: [], left: [] });
    expect(nextOfAll(at({ verified: 50 }), [watch('a', 54)], bounds)).toMatchObject({ from: 54, to: 58 });
    expect(nextOfAll(at({ verified: 60 }), [watch('a')], bounds)).toBeUndefined();
  });

  it('compares watches that are behind together with those whose next block is among the same', () => {
    const others = [behind('in', 14), behind('before', 9), behind('after', 20), behind('unread', 12)];
    const reach = ({ id }: { id: string }) => (id === 'unread' ? 15 : 99);
    const next = nextOfBehind(at({ verified: 50 }), behind('lead', 10), others, { blocks: 10, reach });
    expect([next.from, next.to, next.watches.map(({ id }) => id)]).toEqual([10, 19, ['lead', 'in']]);
    const after = verify(at({ verified: 50, behind: [behind('lead', 10), ...others] }), next);
    expect(after.behind.map(({ watchId, next: block }) => [watchId, block])).toEqual([
      ['lead', 20],
      ['in', 20],
      ['before', 9],
      ['after', 20],
      ['unread', 12],
    ]);
  });

  it('has a watch behind no longer than until it is verified as far as the others', () => {
    const verified = at({ verified: 15, behind: [behind('lead', 10), behind('other', 12)] });
    const next = nextOfBehind(verified, behind('lead', 10), [], { blocks: 10, reach: everything });
    expect([next.to, verify(verified, next).behind]).toEqual([15, [behind('other', 12)]]);
  });

  it('leaves those behind that failed, each from its own start', () => {
    expect(leaveBehind(at({ verified: 50 }), [watch('a', 2), watch('b', 70)]).behind).toEqual([
      nextOf('a', 51),
      nextOf('b', 70),
    ]);
  });

  it('has one replay of each watch, which is over at its end, and leaves what is verified as it is', () => {
    const wanted = addReplays(at({ verified: 50, behind: [behind('a', 5)] }), [
      part('a', 10, 20),
      part('b', 1, 2),
      part('a', 4, 8),
    ]);
    expect(wanted.replays).toEqual([part('a', 4, 20), part('b', 1, 2)]);
    const [first] = wanted.replays;
    if (!first) throw new Error('there are replays');
    const next = nextOfReplay({ ...watch('a'), ...first }, { blocks: 10, reach: () => 11 });
    expect([next.from, next.to]).toEqual([4, 11]);
    const after = verify(wanted, next);
    expect(after).toEqual({ ...wanted, replays: [part('a', 12, 20), part('b', 1, 2)] });
    expect(verify(after, { ...next, from: 12, to: 20 }).replays).toEqual([part('b', 1, 2)]);
  });

  it('is never ahead of what was read', () => {
    const range = (next: number, to: number, joins: boolean) => ({ watchId: 'a', from: 0, next, to, joins });
    const ranges = [range(5, 9, false), range(30, 60, true)];
    expect([0, 5, 10, 30, 70].map((from) => readUpTo(ranges, { from, final: 60 }))).toEqual([4, 4, 29, 29, 29]);
    expect(readUpTo([], { from: 3, final: 60 })).toBe(60);
  });

  it('goes on behind blocks that could not be read, and compares them once they have been', () => {
    const before = at({ verified: 50, behind: [nextOf('w', 12)], replays: [part('w', 15, 18)] });
    const left = skip(before, { watchId: 'w', to: 20 }, 10);
    expect(left).toEqual(at({ verified: 50, behind: [nextOf('w', 21)], skipped: [part('w', 10, 20)] }));
    expect(skip({ ...left, behind: [nextOf('w', 4)] }, { watchId: 'w', to: 20 }, 4).skipped).toEqual([
      part('w', 4, 20),
    ]);
    const [first] = left.skipped;
    if (!first) throw new Error('blocks were skipped');
    const some = nextOfReplay({ ...watch('w'), ...first }, { blocks: 100, reach: () => 14 });
    const compared = verify(left, some);
    expect(compared.skipped).toEqual([part('w', 15, 20)]);
    expect(verify(compared, { ...some, from: 15, to: 20 }).skipped).toEqual([]);
  });

  it('of others that skipped some of these blocks is no part of a comparison', () => {
    const reach = ({ id }: { id: string }, block: number) => (id === 'gap' && block <= 12 ? 9 : 99);
    const others = [behind('gap', 13), behind('in', 13)];
    const next = nextOfBehind(at({ verified: 50 }), behind('lead', 10), others, { blocks: 10, reach });
    expect(next.watches.map(({ id }) => id)).toEqual(['lead', 'in']);
  });

  it('is what it was up to a block where all after it are others', () => {
    const before = at({
      verified: 50,
      behind: [behind('in', 20), behind('after', 31)],
      replays: [part('w', 5, 40), part('w', 31, 40)],
      skipped: [part('w', 5, 30), part('w', 35, 40)],
    });
    expect(verifyAgainAfter(before, 30)).toEqual({
      ...before,
      verified: 30,
      behind: [behind('in', 20)],
      replays: [part('w', 5, 30)],
      skipped: [part('w', 5, 30)],
    });
    expect(verifyAgainAfter(before, -1)).toEqual(initialVerification);
  });
});
