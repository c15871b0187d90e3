import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sessionStream } from '../../schemas/events/account/session-events.ts';
import { Refusal } from '../errors/refusal.ts';
import { sessionsModel } from '../read-models/account/sessions.ts';
import { anEvent } from '../testing/event-builder.ts';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { projectStored } from '../testing/project.ts';
import { inSimulatedTime } from '../testing/simulation/simulated-globals.ts';
import { TestClock, testFoundation, type TestFoundation } from '../testing/test-foundation.ts';
import { SessionEnds } from './session-ends.ts';

describe('the end of a session', () => {
  let foundation: TestFoundation;
  let clock: TestClock;
  let ends: SessionEnds;
  let read: jest.Spied<TestFoundation['eventStore']['read']>;

  const append = (sessionId: string, after: number, type: 'SessionStarted' | 'SessionRevoked') =>
    foundation.eventStore.append(sessionStream(sessionId), after, [
      anEvent({ type, data: { ...eventExamples[type], sessionId } }),
    ]);
  const start = (sessionId: string) => append(sessionId, -1, 'SessionStarted');
  const revoke = (sessionId: string) => append(sessionId, 0, 'SessionRevoked');
  const project = () => projectStored(foundation, [sessionsModel]);

  beforeEach(async () => {
    clock = new TestClock();
    foundation = await testFoundation({ clock });
    ends = new SessionEnds(foundation);
    read = jest.spyOn(foundation.eventStore, 'read');
    await start('ses_1');
    await project();
  });

  it('is what the read model says while that keeps up, and no stream is read', async () => {
    expect(await ends.hasEnded('ses_1')).toBe(false);
    await revoke('ses_1');
    await project();
    clock.time += 500;
    expect(await ends.hasEnded('ses_1')).toBe(true);
    expect(await ends.hasEnded('ses_unknown')).toBe(false);
    expect(read).toHaveBeenCalledTimes(0);
  });

  it('is trusted to a read model that is at most a second behind', async () => {
    expect(await ends.hasEnded('ses_1')).toBe(false);
    await start('ses_2');
    clock.time += 999;
    expect(await ends.hasEnded('ses_1')).toBe(false);
    expect(read).toHaveBeenCalledTimes(0);
  });

  it('is seen within two seconds although the projection stands still', async () => {
    expect(await ends.hasEnded('ses_1')).toBe(false);
    const from = clock.time;
    await revoke('ses_1');
    while (!(await ends.hasEnded('ses_1'))) clock.time += 50;
    expect(clock.time - from).toBeLessThan(2_000);
  });

  it('is read from its stream when it is not known how far the read model is behind', async () => {
    await revoke('ses_1');
    expect(await ends.hasEnded('ses_1')).toBe(true);
    foundation.readStore.position = () => Promise.reject(new Error('down'));
    await start('ses_2');
    clock.time += 60_000;
    expect(await ends.hasEnded('ses_2')).toBe(false);
    await revoke('ses_2');
    clock.time += 500;
    expect(await ends.hasEnded('ses_2')).toBe(true);
  });

  it('goes on to be what the read model says when the event store is away, if it kept up until then', async () => {
    const { eventStore } = foundation;
    expect(await ends.hasEnded('ses_1')).toBe(false);
    const away = () => Promise.reject(new Refusal('dependency_unavailable', 'the event store is away'));
    Object.assign(eventStore, { head: away, read: away });
    clock.time += 60_000;
    expect(await ends.hasEnded('ses_1')).toBe(false);
    const begunMeanwhile = new SessionEnds(foundation);
    await expect(begunMeanwhile.hasEnded('ses_1')).rejects.toThrow('the event store is away');
  });

  it('does not wait for an event store that does not answer', async () => {
    expect(await ends.hasEnded('ses_1')).toBe(false);
    const silent = () => new Promise<never>(() => undefined);
    Object.assign(foundation.eventStore, { head: silent, read: silent });
    clock.time += 60_000;
    await inSimulatedTime(async (time) => {
      expect(await ends.hasEnded('ses_1')).toBe(false);
      expect(time.elapsed()).toBe(500);
    });
  });

  it('of many sessions is told by the read model, or by their streams', async () => {
    const ids = Array.from({ length: 120 }, (_, at) => `ses_many_${String(at)}`);
    for (const id of ids) await start(id);
    await revoke('ses_many_7');
    await project();
    expect(await ends.endedOf(ids)).toEqual(new Set(['ses_many_7']));
    expect(read).toHaveBeenCalledTimes(0);
    await revoke('ses_many_119');
    clock.time += 5_000;
    expect(await ends.endedOf(ids)).toEqual(new Set(['ses_many_7', 'ses_many_119']));
    expect(read).toHaveBeenCalledTimes(ids.length);
  });

  it('is seen although the clock of the machine is set back', async () => {
    expect(await ends.hasEnded('ses_1')).toBe(false);
    clock.jump(-3_600_000);
    await revoke('ses_1');
    clock.time += 2_000;
    expect(await ends.hasEnded('ses_1')).toBe(true);
  });
});
