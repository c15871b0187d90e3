import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { newOneTimePassword, PasswordHashes } from './password-hashes.ts';

const KEY = Buffer.alloc(32, 7);
const hashes = new PasswordHashes(KEY);

describe('hashes of one-time passwords', () => {
  it('fit their password, their one-time password and their key', async () => {
    const hash = await hashes.hash('a', '012345');
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(await hashes.verify('a', '012345', hash)).toBe(true);
    expect(await hashes.verify('a', '012346', hash)).toBe(false);
    expect(await hashes.verify('b', '012345', hash)).toBe(false);
    expect(await new PasswordHashes(Buffer.alloc(32, 8)).verify('a', '012345', hash)).toBe(false);
  });

  it('are salted', async () => {
    expect(await hashes.hash('a', '012345')).not.toBe(await hashes.hash('a', '012345'));
  });

  it('are verified by the parameters that stand in them', async () => {
    const cheap = await new PasswordHashes(KEY, { cost: { memoryKib: 8, passes: 1 } }).hash('a', '012345');
    expect(cheap).toMatch(/^\$argon2id\$v=19\$m=8,t=1,p=1\$/);
    expect(await hashes.verify('a', '012345', cheap)).toBe(true);
    expect(await hashes.verify('a', '012346', cheap)).toBe(false);
    await expect(hashes.verify('a', '012345', 'plain')).rejects.toThrow('cannot be read');
  });

  it('leave the event loop free, and of many some are refused rather than kept waiting', async () => {
    const hashMany = async (startedWithinMs: number) => {
      const many = new PasswordHashes(KEY, { startedWithinMs });
      const hashing = Promise.allSettled(Array.from({ length: 30 }, (_, at) => many.hash(String(at), '012345')));
      let ticks = 0;
      const work = { isDone: false };
      void hashing.then(() => (work.isDone = true));
      for (; !work.isDone; ticks += 1) await tick();
      const refused = (await hashing).flatMap((outcome) =>
        outcome.status === 'rejected' ? [outcome.reason as Error] : [],
      );
      expect(await many.verify('a', '1', await many.hash('a', '1'))).toBe(true);
      return { ticks, refused };
    };
    const patient = await hashMany(3_600_000);
    expect(patient.refused).toEqual([]);
    // Two are made at a time, and the next ones begin in another tick of the event loop.
    expect(patient.ticks).toBeGreaterThanOrEqual(14);
    const { refused } = await hashMany(1);
    expect(refused.length).toBeGreaterThan(0);
    for (const reason of refused) expect(reason).toMatchObject({ code: 'dependency_unavailable' });
  });
});

it('one-time passwords are six digits, each as likely as any other', () => {
  const passwords = Array.from({ length: 20_000 }, newOneTimePassword);
  for (const password of passwords) expect(password).toMatch(/^\d{6}$/);
  const first = passwords.filter((password) => password < '500000').length;
  expect(Math.abs(first - 10_000)).toBeLessThan(400); // five standard deviations and more
  expect(new Set(passwords).size).toBeGreaterThan(19_500);
});
