import { describe, expect, it } from '@jest/globals';
import { newOneTimePassword, PasswordHashes } from './password-hashes.ts';
import { startStopwatch } from '../../../shared/testing/stopwatch.ts';

const hashes = new PasswordHashes(Buffer.alloc(32, 7));

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
    const cheap = '$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g';
    const passedMs = startStopwatch();
    expect(await hashes.verify('a', '012345', cheap)).toBe(false);
    expect(passedMs()).toBeLessThan(1_000);
    await expect(hashes.verify('a', '012345', 'plain')).rejects.toThrow('cannot be read');
  });

  it('leave the event loop free, and of many some are refused rather than kept waiting', async () => {
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 5);
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, (_, at) => hashes.hash(String(at), '012345')));
    clearInterval(ticking);
    expect(ticks).toBeGreaterThan(10);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'dependency_unavailable' });
    }
    expect(await hashes.verify('a', '1', await hashes.hash('a', '1'))).toBe(true);
  });
});

it('one-time passwords are six digits, each as likely as any other', () => {
  const passwords = Array.from({ length: 20_000 }, newOneTimePassword);
  for (const password of passwords) expect(password).toMatch(/^\d{6}$/);
  const first = passwords.filter((password) => password < '500000').length;
  expect(Math.abs(first - 10_000)).toBeLessThan(400); // five standard deviations and more
  expect(new Set(passwords).size).toBeGreaterThan(19_500);
});
