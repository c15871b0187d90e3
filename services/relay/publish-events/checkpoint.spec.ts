import { describe, expect, it } from '@jest/globals';
import { MemoryReadStore } from '../../../shared/read-store/read-store.memory.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { Checkpoint, RELAY_CHECKPOINT } from './checkpoint.ts';

describe("the relay's checkpoint", () => {
  it('is saved whenever it moves, also after it was reached again', async () => {
    const store = new MemoryReadStore();
    const checkpoint = new Checkpoint(store);
    await checkpoint.load();
    for (const position of [3, 3, 3, 7]) {
      checkpoint.reach(position);
      await checkpoint.settle();
      expect(await store.position(RELAY_CHECKPOINT)).toBe(position);
    }
  });

  it('is written at once after a rest, then now and then, and at the end: the newest each time', async () => {
    const store = new MemoryReadStore();
    const written: number[] = [];
    const never = 1_000_000;
    const checkpoint = new Checkpoint(
      {
        position: () => Promise.resolve(0),
        apply: (name, changes, position) => {
          written.push(position);
          return store.apply(name, changes, position);
        },
      },
      never,
    );
    for (const position of [1, 2, 3]) checkpoint.reach(position);
    await eventually(async () => (await store.position(RELAY_CHECKPOINT)) === 1, 1_000, 'the first must be written');
    checkpoint.reach(4);
    expect(written).toEqual([1]);
    await checkpoint.settle();
    expect(written).toEqual([1, 4]);
  });

  it('says what it could not save, and nothing after it', async () => {
    const checkpoint = new Checkpoint({
      position: () => Promise.resolve(0),
      apply: () => Promise.reject(new Error('the store is away')),
    });
    checkpoint.reach(1);
    await expect(checkpoint.settle()).rejects.toThrow('the store is away');
    expect(() => {
      checkpoint.reach(2);
    }).toThrow('the store is away');
  });
});
