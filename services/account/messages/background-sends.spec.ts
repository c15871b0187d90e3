import { describe, expect, it } from '@jest/globals';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { inSimulatedTime } from '../../../shared/testing/simulation/simulated-globals.ts';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { BackgroundSends } from './background-sends.ts';
import { SenderRefused } from './sender-refused.ts';
import { Undeliverable } from './undeliverable.ts';

const down = () => new Refusal('dependency_unavailable', 'down', { retryAfter: 0 });
const busy = (retryAfter: number) => new Refusal('rate_limited', 'busy', { retryAfter });

/** Sends to recipients, of whom each refuses with its errors before it takes a message. */
const sending = () => {
  const clock = new TestClock();
  const reported: unknown[] = [];
  const sends = new BackgroundSends(clock, (error) => reported.push(error));
  let tries = 0;
  const notSent: string[] = [];
  const start = (recipient: string, ...errors: Error[]) => {
    sends.start(recipient, {
      send: () => {
        tries += 1;
        const error = errors.shift();
        return error ? Promise.reject(error) : Promise.resolve();
      },
      notSent: () => {
        notSent.push(recipient);
        return Promise.resolve();
      },
    });
  };
  const isDown = () => {
    try {
      sends.requireServer();
      return false;
    } catch (error) {
      return error instanceof Refusal && error.code === 'dependency_unavailable';
    }
  };
  const tried = (count: number) => eventually(() => tries === count, 3_000, `it must be tried ${String(count)} times`);
  return { clock, sends, reported, notSent, start, isDown, tries: () => tries, tried };
};

describe('a message that nobody waits for', () => {
  it('is tried once more', async () => {
    const { sends, start, tried, notSent, isDown, reported } = sending();
    start('a', down());
    await tried(2);
    start('b', down(), down(), down());
    await tried(4);
    await sends.onModuleDestroy();
    expect(notSent).toEqual(['b']);
    expect(reported).toHaveLength(3);
    expect(isDown()).toBe(false);
  });

  it('is not tried again where its recipient is refused, and counts as sent', async () => {
    const { sends, start, tried, notSent } = sending();
    start('a', new Undeliverable('blocked'), down());
    await tried(1);
    await sends.onModuleDestroy();
    expect(notSent).toEqual([]);
  });

  it('waits as long as the server says for its recipient, while others are sent', () =>
    inSimulatedTime(async (time) => {
      const { sends, start, tries, notSent, isDown } = sending();
      start('a', busy(30));
      start('b', busy(61));
      await time.pause(10_000);
      expect([tries(), notSent]).toEqual([2, ['b']]);
      for (const recipient of ['c', 'd', 'e']) start(recipient, busy(30));
      await time.pause(19_999);
      expect([tries(), isDown()]).toEqual([5, false]);
      await time.pause(1);
      expect(tries()).toBe(6);
      await sends.onModuleDestroy();
      expect(tries()).toBe(6);
      expect(notSent.toSorted()).toEqual(['b', 'c', 'd', 'e']);
    }));
});

describe('a server', () => {
  it('takes nothing after failures for three recipients in a row, for ten seconds', async () => {
    const { clock, start, tried, isDown } = sending();
    start('a', down(), down());
    start('a', down(), down());
    start('b', down(), down());
    await tried(6);
    expect(isDown()).toBe(false);
    start('c', down(), down());
    await tried(8);
    expect(isDown()).toBe(true);
    clock.time += 9_999;
    expect(isDown()).toBe(true);
    clock.time += 1;
    expect(isDown()).toBe(false);
  });

  it('takes messages once it answered for one of them', async () => {
    for (const last of [[], [new Undeliverable('blocked')]]) {
      const { sends, start, tried, isDown } = sending();
      for (const recipient of ['a', 'b']) start(recipient, down(), down());
      await tried(4);
      start('c', ...last);
      start('d', down(), down());
      await tried(7);
      expect(isDown()).toBe(false);
      await sends.onModuleDestroy();
    }
  });

  it('that refuses the sender takes nothing of anybody', async () => {
    const { start, tried, isDown, sends, notSent } = sending();
    start('a', new SenderRefused('who is that?'), down());
    await tried(1);
    expect(isDown()).toBe(true);
    await sends.onModuleDestroy();
    expect(notSent).toEqual(['a']);
  });
});
