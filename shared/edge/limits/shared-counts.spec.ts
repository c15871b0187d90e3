import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { TestClock, testFoundation, type TestFoundation } from '../../testing/test-foundation.ts';
import { RateLimits } from './rate-limits.ts';
import { SharedCounts } from './shared-counts.ts';

const RATE_LIMITS = { login: { points: 5, seconds: 300 }, request: { points: 5, seconds: 1 } };

describe('rate limits of several processes', () => {
  const clock = new TestClock();
  let foundation: TestFoundation;
  beforeEach(async () => {
    foundation = await testFoundation({ clock });
  });
  const aProcess = () => {
    const counts = new SharedCounts(foundation);
    const limits = new RateLimits({ RATE_LIMITS }, counts, clock);
    const logIn = async (times = 1) => {
      let allowed = 0;
      for (let at = 0; at < times; at += 1) if (!(await limits.count('login', 'ip:1'))?.exceeded) allowed += 1;
      return allowed;
    };
    return { counts, limits, logIn, exchange: () => counts.exchange() };
  };

  it('allow together what one would, and besides what one lets through before it hears of the others', async () => {
    const [one, other] = [aProcess(), aProcess()];
    expect(await one.logIn(3)).toBe(3);
    await one.exchange();
    expect(await other.logIn()).toBe(1);
    await other.exchange();
    expect(await other.logIn(9)).toBe(1);
    await other.exchange();
    expect((await one.limits.peek('login', 'ip:1'))?.remaining).toBe(2);
    expect(await one.logIn()).toBe(1);
    await one.exchange();
    expect(await one.logIn(9)).toBe(0);
    expect(await aProcess().logIn(100)).toBe(5);
  });

  it('end in all of them at the same time', async () => {
    const [one, other] = [aProcess(), aProcess()];
    await one.logIn(9);
    await one.exchange();
    clock.time += 299_000;
    await other.logIn();
    await other.exchange();
    expect(await other.limits.count('login', 'ip:1')).toMatchObject({ exceeded: true, remaining: 0, resetSeconds: 1 });
    clock.time += 1_000;
    for (const each of [one, other]) expect(await each.logIn()).toBe(1);
  });

  it('are counted by each for itself while the read store is away, and nothing of that is lost', async () => {
    const [one, other] = [aProcess(), aProcess()];
    const { readStore } = foundation;
    const addPoints = jest.spyOn(readStore, 'addPoints').mockRejectedValue(new Error('away'));
    expect(await one.logIn(4)).toBe(4);
    await expect(one.exchange()).rejects.toThrow('away');
    expect(await one.logIn(9)).toBe(1);
    addPoints.mockRestore();
    await one.exchange();
    await other.logIn();
    await other.exchange();
    expect(await other.logIn()).toBe(0);
  });

  it('of one second are counted by each for itself, without the read store', async () => {
    const { readStore } = foundation;
    readStore.addPoints = () => Promise.reject(new Error('away'));
    const { limits, exchange } = aProcess();
    await limits.count('request', 'ip:1');
    await expect(exchange()).resolves.toBeUndefined();
  });

  it('tell the read store no caller, and nothing of one that is refused already', async () => {
    const { mock } = jest.spyOn(foundation.readStore, 'addPoints');
    const one = aProcess();
    await one.logIn(100);
    await one.exchange();
    await one.logIn(100);
    await one.exchange();
    const told = mock.calls.flatMap(([points]) => points);
    expect(told).toEqual([{ id: expect.not.stringContaining('ip:1'), points: 6, windowMs: 300_000 }]);
  });

  it('begin anew after the clock was set back, and last no longer than they may', async () => {
    const one = aProcess();
    await one.logIn(9);
    clock.jump(-3_600_000);
    expect(await one.logIn()).toBe(1);
    clock.jump(3_600_000);
  });
});
