import { describe, expect, it } from '@jest/globals';
import { MemoryEventStore } from '../../../../shared/event-store/event-store.memory.ts';
import { NO_STREAM, WrongExpectedRevision } from '../../../../shared/event-store/event-store.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { ChainAppends } from './chain-appends.ts';

const STREAM = 'chain-2484';

/** One who takes over, while others append to the stream so often: each time just after it was read. */
const fenceWhileOthersAppend = (times: number) => {
  const eventStore = new MemoryEventStore();
  const dependencies = { eventStore, clock: systemClock, ids: systemIds };
  const appends = new ChainAppends(dependencies, new AbortController().signal, true);
  let left = times;
  const read = async () => {
    const [newest = { revision: NO_STREAM, position: 0 }] = await eventStore.read(STREAM, {
      direction: 'backwards',
      limit: 1,
    });
    if (left > 0) await eventStore.append(STREAM, newest.revision, [anEvent()]);
    left -= 1;
    return { newest, seen: newest.revision + 1 };
  };
  const fenced = appends.readFenced(STREAM, read, () => ({ type: 'FollowerReplaced', data: { chainId: 2484 } }));
  return { fenced, eventStore };
};

describe('a stream that is fenced', () => {
  it('is read again when others came between, until nothing did', async () => {
    const { fenced, eventStore } = fenceWhileOthersAppend(3);
    expect(await fenced).toMatchObject({ seen: 3, newest: { revision: 3 } });
    expect((await eventStore.read(STREAM)).map(({ type }) => type)).toEqual([
      ...Array<string>(3).fill('Happened'),
      'FollowerReplaced',
    ]);
  });

  it('is given up when others keep appending to it', async () => {
    const { fenced, eventStore } = fenceWhileOthersAppend(200);
    await expect(fenced).rejects.toBeInstanceOf(WrongExpectedRevision);
    expect((await eventStore.read(STREAM)).map(({ type }) => type)).not.toContain('FollowerReplaced');
  });
});
