import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Coordination, Lease } from './coordination.ts';

/** Defines what every adapter of the port must do. */
export const coordinationContract = (
  engine: string,
  open: () => Promise<Coordination & { close: () => Promise<void> }>,
): void => {
  describe(`coordination on ${engine}`, () => {
    let store: Awaited<ReturnType<typeof open>>;
    let name: string;
    let round = 0;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());
    beforeEach(() => {
      round += 1;
      name = `things-${String(round)}`;
    });

    it('adds points to a count until its time is over, and begins another with those that come then', async () => {
      const [id, other] = [`${name}-1`, `${name}-2`];
      const add = async (points: number, nowMs: number) =>
        (await store.addPoints([{ id, points, windowMs: 1_000 }], nowMs)).get(id);
      expect(await add(2, 10_000)).toEqual({ points: 2, endsAt: 11_000 });
      expect(await add(3, 10_999)).toEqual({ points: 5, endsAt: 11_000 });
      expect(await add(0, 10_999)).toEqual({ points: 5, endsAt: 11_000 });
      expect(await add(1, 11_000)).toEqual({ points: 1, endsAt: 12_000 });
      const both = [id, other].map((one) => ({ id: one, points: 4, windowMs: 500 }));
      expect(await store.addPoints(both, 11_001)).toEqual(
        new Map([
          [id, { points: 5, endsAt: 12_000 }],
          [other, { points: 4, endsAt: 11_501 }],
        ]),
      );
      expect(await store.addPoints([], 11_001)).toEqual(new Map());
    });

    it('counts every point that is added at once', async () => {
      const id = `${name}-raced`;
      await store.addPoints([{ id, points: 1, windowMs: 1_000 }], 10_000);
      await Promise.all(
        Array.from({ length: 50 }, () => store.addPoints([{ id, points: 2, windowMs: 1_000 }], 10_001)),
      );
      expect((await store.addPoints([{ id, points: 0, windowMs: 1_000 }], 10_002)).get(id)?.points).toBe(101);
    });

    it('forgets the counts that have ended', async () => {
      const [ended, lasting] = [`${name}-ended`, `${name}-lasting`];
      const counts = [ended, lasting].map((id, at) => ({ id, points: 7, windowMs: 1_000 * (at + 1) }));
      await store.addPoints(counts, 20_000);
      await store.forgetPoints(21_000);
      const again = counts.map((one) => ({ ...one, points: 0 }));
      // A kept counter would still last at this earlier time.
      const found = await store.addPoints(again, 20_500);
      expect([found.get(ended)?.points, found.get(lasting)?.points]).toEqual([0, 7]);
    });

    describe('an announcement', () => {
      const hostile = { 'a.b': 1, $gt: '', __proto__x: null, list: [{ deep: '💥' }] };
      const announcement = { id: 'one', renewals: 3, document: hostile };

      it('is found by its kind as it was made last, until it is withdrawn', async () => {
        expect(await store.announcements(name)).toEqual([]);
        await store.announce(name, { ...announcement, document: { first: true } });
        await store.announce(name, { ...announcement, id: 'other' });
        await store.announce(name, announcement);
        await store.announce(`${name}-other`, announcement);
        expect(await store.announcements(name)).toEqual([announcement, { ...announcement, id: 'other' }]);
        await store.withdraw(name, announcement);
        expect(await store.announcements(name)).toEqual([{ ...announcement, id: 'other' }]);
        expect(await store.announcements(`${name}-other`)).toEqual([announcement]);
      });

      it('is not withdrawn by who has not seen its newest renewal', async () => {
        await store.announce(name, announcement);
        await store.withdraw(name, { id: 'one', renewals: 2 });
        await store.withdraw(name, { id: 'other', renewals: 3 });
        expect(await store.announcements(name)).toEqual([announcement]);
      });

      it('of many processes at once is each found', async () => {
        const many = Array.from({ length: 50 }, (_, n) => ({ id: `p${String(n + 10)}`, renewals: n, document: { n } }));
        await Promise.all(many.map((one) => store.announce(name, one)));
        expect(await store.announcements(name)).toEqual(many);
      });
    });

    describe('a lease', () => {
      const lease = { holder: 'one', epoch: 1, renewals: 0 };

      it('does not exist at first, and is then stored as given', async () => {
        expect(await store.lease(name)).toBeUndefined();
        expect(await store.replaceLease(name, lease, { ...lease, renewals: 1 })).toBe(false);
        expect(await store.replaceLease(name, undefined, lease)).toBe(true);
        expect(await store.lease(name)).toEqual(lease);
        expect(await store.lease(`${name}-other`)).toBeUndefined();
      });

      it('is replaced only when the expected lease is the stored one', async () => {
        await store.replaceLease(name, undefined, lease);
        const next = { holder: 'two', epoch: 2, renewals: 0 };
        expect(await store.replaceLease(name, undefined, next)).toBe(false);
        for (const wrong of [{ holder: 'three' }, { holder: null }, { epoch: 2 }, { renewals: 1 }]) {
          expect(await store.replaceLease(name, { ...lease, ...wrong }, next)).toBe(false);
        }
        expect(await store.lease(name)).toEqual(lease);
        expect(await store.replaceLease(name, lease, next)).toBe(true);
        expect(await store.replaceLease(name, lease, next)).toBe(false);
        expect(await store.replaceLease(name, next, next)).toBe(true);
        expect(await store.lease(name)).toEqual(next);
      });

      it('is renewed by its holder, and by nobody after the holder has lost it', async () => {
        expect(await store.renewLease(name, lease)).toBeUndefined();
        await store.replaceLease(name, undefined, lease);
        const renewed = await store.renewLease(name, lease);
        expect(renewed).toEqual(await store.lease(name));
        expect(renewed).toMatchObject({ holder: 'one', epoch: 1 });
        for (const other of [{ holder: 'two' }, { holder: null }, { epoch: 2 }]) {
          expect(await store.renewLease(name, { ...lease, ...other })).toBeUndefined();
        }
        expect(await store.replaceLease(name, renewed, { holder: 'two', epoch: 2, renewals: 0 })).toBe(true);
        expect(await store.renewLease(name, lease)).toBeUndefined();
        expect(await store.lease(name)).toEqual({ holder: 'two', epoch: 2, renewals: 0 });
      });

      it('can be released and acquired again', async () => {
        const free = { ...lease, holder: null };
        await store.replaceLease(name, undefined, lease);
        expect(await store.replaceLease(name, lease, free)).toBe(true);
        expect(await store.lease(name)).toEqual(free);
        expect(await store.replaceLease(name, lease, { ...lease, epoch: 2 })).toBe(false);
        expect(await store.replaceLease(name, free, { ...lease, epoch: 2 })).toBe(true);
      });

      it('is acquired by exactly one of many contenders, again and again', async () => {
        for (let epoch = 1, current: Lease | undefined; epoch <= 10; epoch += 1) {
          const before = current;
          const contenders = Array.from({ length: 20 }, (_, n) => ({ holder: String(n), epoch, renewals: 0 }));
          const won = await Promise.all(contenders.map((one) => store.replaceLease(name, before, one)));
          expect(won.filter((one) => one)).toHaveLength(1);
          current = contenders[won.indexOf(true)];
          expect(await store.lease(name)).toEqual(current);
        }
      });
    });
  });
};
