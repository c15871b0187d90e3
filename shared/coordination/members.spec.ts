import { beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { nameHolder, THIS_PROCESS } from '../loops/lease-holder.ts';
import { eventually } from '../testing/eventually.ts';
import { TestClock, testFoundation, type TestFoundation } from '../testing/test-foundation.ts';
import { announcing } from './announcing.ts';
import { Members } from './members.ts';
import { inSimulatedTime } from '../testing/simulation/simulated-globals.ts';

const KIND = 'things';
const schema = z.object({ size: z.int() });

describe('the processes that announce themselves', () => {
  let clock: TestClock;
  let foundation: TestFoundation;
  let members: Members<typeof schema>;
  beforeEach(async () => {
    clock = new TestClock();
    foundation = await testFoundation({ clock });
    members = new Members({ ...foundation, kind: KIND, schema });
  });

  const announce = (id: string, renewals: number, document: object = { size: renewals }) =>
    foundation.readStore.announce(KIND, { id, renewals, document: { ...document } });
  /** Returns what is known after another read. */
  const look = async (ms = 5_000) => {
    clock.time += ms;
    return members.current();
  };

  it('are alive once they renewed their announcement, and until they are silent for 5 s', async () => {
    await announce('one', 1);
    expect(await look()).toEqual([{ id: 'one', document: { size: 1 }, isAlive: false, isSilent: false }]);
    await announce('one', 2);
    expect(await look()).toEqual([{ id: 'one', document: { size: 2 }, isAlive: true, isSilent: false }]);
    // Another read finds nothing new.
    await members.find(() => false);
    expect(await look(4_999)).toMatchObject([{ isAlive: true }]);
    expect(await look(1)).toMatchObject([{ isAlive: false, isSilent: true }]);
    await announce('one', 3);
    expect(await look()).toMatchObject([{ isAlive: true }]);
  });

  it('include this process, which need not renew what it announces', async () => {
    await announce(THIS_PROCESS, 1);
    for (const ms of [5_000, 60_000])
      expect(await look(ms)).toEqual([{ id: THIS_PROCESS, document: { size: 1 }, isAlive: true, isSilent: false }]);
  });

  it('are alive by what they renew, whatever their clocks and this one are set to', async () => {
    await announce('one', 1);
    await look();
    await announce('one', 2);
    await look();
    clock.jump(86_400_000);
    expect(members.known()).toMatchObject([{ isAlive: true }]);
    clock.jump(-2 * 86_400_000);
    expect(members.known()).toMatchObject([{ isAlive: true }]);
  });

  it('are forgotten after 30 s of silence, and not sooner', async () => {
    await announce('one', 1);
    await look();
    expect(await look(4_999)).toMatchObject([{ isAlive: false, isSilent: false }]);
    expect(await look(25_000)).toMatchObject([{ isAlive: false, isSilent: true }]);
    expect(await look(5_001)).toEqual([]);
    expect(await foundation.readStore.announcements(KIND)).toEqual([]);
  });

  it('are not forgotten by a process that was stopped itself meanwhile', async () => {
    await announce('one', 1);
    await look();
    clock.time += 3_600_000;
    await announce('one', 2);
    expect(await members.current()).toMatchObject([{ isAlive: true }]);
  });

  it('do not live if this machine knows that they ended', async () => {
    const ended = nameHolder(2 ** 22 + 1);
    await announce(ended, 1);
    await look();
    await announce(ended, 2);
    expect(await look()).toMatchObject([{ id: ended, isAlive: false, isSilent: true }]);
  });

  it('are left out while what they announce is not understood', async () => {
    await announce('one', 1, { size: 'large' });
    expect(await look()).toEqual([]);
  });

  it('are found at once although the last look was before they began', async () => {
    await look();
    await announce('one', 7);
    expect(await members.find(({ size }) => size === 7)).toEqual({ size: 7 });
    expect(await members.find(({ size }) => size === 8)).toBeUndefined();
  });

  it('announce themselves again and again, and no more once they stop', () =>
    inSimulatedTime(async () => {
      let size = 0;
      const loop = announcing({ ...foundation, kind: KIND, id: 'one', describe: () => ({ size: (size += 1) }) });
      loop.start();
      members.loop.start();
      await eventually(() => members.known()[0]?.isAlive, 5_000, 'it must renew its announcement');
      await loop.stop();
      expect(await foundation.readStore.announcements(KIND)).toEqual([]);
      await eventually(() => members.known().length === 0, 5_000, 'it must not be known any more');
      await members.loop.stop();
    }));

  it('are not waited for when this process stops while the read store hangs', () =>
    inSimulatedTime(async (time) => {
      const never = () => new Promise<never>(() => undefined);
      Object.assign(foundation.readStore, { announce: never, announcements: never, withdraw: never });
      const loops = [announcing({ ...foundation, kind: KIND, id: 'one', describe: () => ({ size: 1 }) }), members.loop];
      for (const loop of loops) loop.start();
      await time.pause(10_000);
      const stoppedAt = time.elapsed();
      await Promise.all(loops.map((loop) => loop.stop()));
      expect(time.elapsed() - stoppedAt).toBeLessThanOrEqual(1_000);
    }));
});
