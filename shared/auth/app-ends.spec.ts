import { beforeEach, describe, expect, it } from '@jest/globals';
import { appStream } from '../../schemas/events/app-events.ts';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { NO_STREAM } from '../event-store/event-store.ts';
import { appsModel } from '../read-models/apps.ts';
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
