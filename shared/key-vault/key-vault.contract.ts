import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KeyVault } from './key-vault.ts';

const AT = '2026-01-02T03:04:05.678Z';
const LATER = '2026-01-03T03:04:05.678Z';
const aKey = (sealed = `sealed-${randomUUID()}`) => ({ id: `data-${randomUUID()}`, sealed, createdAt: AT });

/** Defines what every adapter of the port must do. Both open the same vault, as two processes do. */
export const keyVaultContract = (name: string, open: () => Promise<[KeyVault, KeyVault]>): void => {
  describe(`key vault on ${name}`, () => {
    let vault: KeyVault;
    let other: KeyVault;
    beforeAll(async () => {
      [vault, other] = await open();
    });
    afterAll(() => Promise.all([vault.close(), other.close()]));

    it('returns keys by id, and none that does not exist', async () => {
      const [one, two] = [aKey(), aKey()];
      expect(await vault.add([one, two], undefined)).toEqual([one, two].map((key) => ({ ...key, destroyedAt: null })));
      expect(await other.get([two.id, 'data-none'])).toEqual(new Map([[two.id, { ...two, destroyedAt: null }]]));
    });

    it('keeps the first of the keys that ten processes add for one id', async () => {
      const { id } = aKey();
      const added = await Promise.all(
        Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? vault : other).add([{ ...aKey(), id }], undefined)),
      );
      expect(new Set(added.map(([key]) => key?.sealed)).size).toBe(1);
    });

    it('destroys a key for ever: it is not there any more, and cannot be added again', async () => {
      const key = aKey();
      await vault.add([key], undefined);
      await other.destroy(key.id, LATER);
      await vault.destroy(key.id, '2026-02-03T03:04:05.678Z');
      const destroyed = { id: key.id, sealed: null, createdAt: AT, destroyedAt: LATER };
      expect((await vault.get([key.id])).get(key.id)).toEqual(destroyed);
      expect(await vault.add([aKey(), key], undefined)).toEqual([expect.anything(), destroyed]);
    });

    it('destroys also a key that never was there', async () => {
      const key = aKey();
      await vault.destroy(key.id, LATER);
      expect(await other.add([key], undefined)).toEqual([
        { id: key.id, sealed: null, createdAt: LATER, destroyedAt: LATER },
      ]);
    });

    it('seals a key anew only if it is what it was', async () => {
      const key = aKey('before');
      await vault.add([key], undefined);
      expect(await vault.reseal(key.id, 'something else', 'after')).toBe(false);
      expect(await vault.reseal(key.id, 'before', 'after')).toBe(true);
      expect((await other.get([key.id])).get(key.id)?.sealed).toBe('after');
      await vault.destroy(key.id, LATER);
      expect(await vault.reseal(key.id, 'after', 'again')).toBe(false);
    });

    it('lists keys in the order of their ids, page by page', async () => {
      const keys = Array.from({ length: 7 }, (_, at) => ({ ...aKey(), id: `zz-${String(at)}` }));
      await vault.add(keys.toReversed(), undefined);
      const first = await other.list('zz', 3);
      const rest = await other.list(first.at(-1)?.id ?? '', 10);
      expect([...first, ...rest].map(({ id }) => id)).toEqual(keys.map(({ id }) => id));
    });

    /** Must be the last spec: from here on the vault has an identity. */
    it('is given one identity, of however many processes, and adds keys only beside its check value', async () => {
      expect(await vault.identity()).toBeUndefined();
      const named = (at: number) => ({
        vaultId: `vlt_${String(at)}`,
        check: `check-${String(at)}`,
        isRewrapping: false,
      });
      const given = await Promise.all(
        Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? vault : other).identify(named(at), undefined)),
      );
      const [identity] = given;
      if (!identity) throw new Error('there is no identity');
      expect(new Set(given.map(({ vaultId }) => vaultId)).size).toBe(1);
      expect(await other.identity()).toEqual(identity);

      const next = { ...identity, check: 'next', isRewrapping: true };
      expect(await other.identify(next, 'something else')).toEqual(identity);
      expect(await other.identify(next, identity.check)).toEqual(next);

      const [former, key, none] = [aKey(), aKey(), aKey()];
      const refused = await Promise.allSettled([
        vault.add([former], identity.check),
        vault.add([key], 'next'),
        vault.add([none], undefined),
      ]);
      expect(refused).toMatchObject([
        { reason: { code: 'dependency_unavailable' } },
        { value: [{ id: key.id }] },
        { reason: { code: 'dependency_unavailable' } },
      ]);
      expect([...(await other.get([former.id, key.id, none.id])).keys()]).toEqual([key.id]);
    });
  });
};
