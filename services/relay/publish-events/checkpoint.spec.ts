import { describe, expect, it } from '@jest/globals';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { Checkpoint, RELAY_CHECKPOINT } from './checkpoint.ts';

describe("the relay's checkpoint", () => {
  it('is saved whenever it advances, also after the same position was given repeatedly', async () => {
    const store = new MemoryReadStore();
    const checkpoint = new Checkpoint(store);
    await checkpoint.load();
    for (const position of [3, 3, 3, 7]) {
      checkpoint.advance({ position });
      await checkpoint.flush();
      expect(await store.position(RELAY_CHECKPOINT)).toBe(position);
    }
  });

  it('is saved at once when idle, then once per interval, and when flushed: only the newest position each time', async () => {
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
    for (const position of [1, 2, 3]) checkpoint.advance({ position });
    await eventually(async () => (await store.position(RELAY_CHECKPOINT)) === 1, 1_000, 'the first must be written');
    checkpoint.advance({ position: 4 });
    expect(written).toEqual([1]);
    await checkpoint.flush();
    expect(written).toEqual([1, 4]);
  });

  it('throws the error of a failed save when it is flushed and when it advances', async () => {
    const checkpoint = new Checkpoint({
      position: () => Promise.resolve(0),
      apply: () => Promise.reject(new Error('the store is away')),
    });
    checkpoint.advance({ position: 1 });
    await expect(checkpoint.flush()).rejects.toThrow('the store is away');
    expect(() => {
      checkpoint.advance({ position: 2 });
    }).toThrow('the store is away');
  });
});
