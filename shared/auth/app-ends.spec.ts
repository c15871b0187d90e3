import { beforeEach, describe, expect, it } from '@jest/globals';
import { appStream } from '../../schemas/events/account/app-events.ts';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { NO_STREAM } from '../event-store/event-store.ts';
import { appsModel } from '../read-models/account/apps.ts';
import { anEvent } from '../testing/event-builder.ts';
import { projectStored } from '../testing/project.ts';
import { TestClock, testFoundation, type TestFoundation } from '../testing/test-foundation.ts';
import { AppEnds } from './app-ends.ts';

const APP = eventExamples.AppRevoked.appId;

describe('the end of an app', () => {
  const clock = new TestClock();
  let foundation: TestFoundation;
  let ends: AppEnds;
  beforeEach(async () => {
    foundation = await testFoundation({ clock });
    ends = new AppEnds(foundation);
    const registered = anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered });
    await foundation.eventStore.append(appStream(APP), NO_STREAM, [registered]);
  });
  const revoke = () =>
    foundation.eventStore.append(appStream(APP), 0, [anEvent({ type: 'AppRevoked', data: eventExamples.AppRevoked })]);

  it('is known a second later, although nothing is projected', async () => {
    expect(await ends.isRevoked(APP)).toBe(false);
    await revoke();
    expect(await ends.isRevoked(APP)).toBe(false);
    clock.time += 1_000;
    expect(await ends.revokedOf(['app_of_nobody', APP])).toEqual(new Set([APP]));
  });

  it('is known from the read model while the event store does not answer', async () => {
    await revoke();
    foundation.eventStore.read = () => new Promise(() => undefined);
    expect(await ends.isRevoked(APP)).toBe(false);
    await projectStored(foundation, [appsModel]);
    clock.time += 1_000;
    expect(await ends.isRevoked(APP)).toBe(true);
  });
});

describe('the end of a server key', () => {
  const clock = new TestClock();
  const [FIRST, SECOND] = ['1', '2'].map((digit) => `0x${digit.repeat(40)}`) as [string, string];
  let foundation: TestFoundation;
  let ends: AppEnds;
  const append = async (...events: (readonly ['AppServerKeyCreated' | 'AppServerKeyRevoked', string])[]) => {
    const { eventStore } = foundation;
    const [last] = await eventStore.read(appStream(APP), { direction: 'backwards', limit: 1 });
    const added = events.map(([type, signer]) => anEvent({ type, data: { appId: APP, signer } }));
    await eventStore.append(appStream(APP), last?.revision ?? NO_STREAM, added);
  };
  const revoked = () => Promise.all([FIRST, SECOND].map((signer) => ends.isServerKeyRevoked({ appId: APP, signer })));
  beforeEach(async () => {
    foundation = await testFoundation({ clock });
    ends = new AppEnds(foundation);
    const registered = anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered });
    await foundation.eventStore.append(appStream(APP), NO_STREAM, [registered]);
    await append(['AppServerKeyCreated', FIRST], ['AppServerKeyCreated', SECOND]);
  });

  it('is known a second later, although nothing is projected, and no other key ends with it', async () => {
    expect(await revoked()).toEqual([false, false]);
    await append(['AppServerKeyRevoked', FIRST]);
    clock.time += 1_000;
    expect(await revoked()).toEqual([true, false]);
    expect(await ends.isServerKeyRevoked({ appId: APP, signer: `0x${'3'.repeat(40)}` })).toBe(true);
    expect(await ends.isServerKeyRevoked({ appId: 'app_of_nobody', signer: SECOND })).toBe(true);
  });

  it('is known from the read model while the event store does not answer', async () => {
    await append(['AppServerKeyRevoked', SECOND]);
    await projectStored(foundation, [appsModel]);
    foundation.eventStore.read = () => new Promise(() => undefined);
    expect(await revoked()).toEqual([false, true]);
  });
});
