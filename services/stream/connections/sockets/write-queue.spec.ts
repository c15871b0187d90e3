import { describe, expect, it } from '@jest/globals';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { WriteQueue } from './write-queue.ts';

/** Sockets of which each write takes a millisecond, on a clock that only writing moves. */
const someSockets = (count: number) => {
  let nowMs = 0;
  const written: number[] = [];
  const queue = new WriteQueue(() => nowMs);
  const sockets = Array.from({ length: count }, (_, at) => ({
    flush: () => {
      nowMs += 1;
      written.push(at);
    },
  }));
  return { queue, sockets, written };
};

describe('the queue of sockets that write', () => {
  it('lets them write in the tick in which something is sent, once however much that is', async () => {
    const { queue, sockets, written } = someSockets(3);
    for (const socket of [...sockets, ...sockets]) queue.add(socket);
    expect(written).toEqual([]);
    await Promise.resolve();
    expect(written).toEqual([0, 1, 2]);
  });

  it('lets other work go on when there are many, and keeps their order', async () => {
    const { queue, sockets, written } = someSockets(40);
    for (const socket of sockets) queue.add(socket);
    await Promise.resolve();
    expect(written).toHaveLength(16);
    for (const first of sockets.slice(0, 1)) queue.add(first);
    while (written.length < 41) await yieldToEventLoop();
    expect(written).toEqual([...sockets.keys(), 0]);
  });

  it('passes over a socket that has written already', async () => {
    const { queue, sockets, written } = someSockets(2);
    for (const socket of sockets) queue.add(socket);
    for (const first of sockets.slice(0, 1)) queue.remove(first);
    await Promise.resolve();
    expect(written).toEqual([1]);
  });
});
