import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Socket } from 'socket.io';
import { changeAt } from '../testing/some-subscription.ts';
import { SocketBuffer } from './socket-buffer.socketio.ts';

/** A connection whose client reads when the test says so. */
const aBuffer = () => {
  const unread: (() => void)[] = [];
  const write = (_packet: string, _options: object, onRead: () => void) => unread.push(onRead);
  let stalled = 0;
  const buffer = new SocketBuffer({ write } as unknown as Socket['conn'], () => (stalled += 1));
  return { buffer, readOne: () => unread.shift()?.(), stalled: () => stalled };
};

describe('a client that reads nothing of what waits for it', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is given up after 30 s, however little waits', () => {
    const { buffer, stalled } = aBuffer();
    buffer.send(changeAt(1));
    jest.advanceTimersByTime(29_999);
    expect(stalled()).toBe(0);
    jest.advanceTimersByTime(1);
    expect(stalled()).toBe(1);
  });

  it('has another 30 s whenever it reads something, and for ever when nothing waits', () => {
    const { buffer, readOne, stalled } = aBuffer();
    for (const position of [1, 2, 3]) buffer.send(changeAt(position));
    for (let read = 0; read < 3; read += 1) {
      jest.advanceTimersByTime(29_000);
      readOne();
    }
    jest.advanceTimersByTime(3_600_000);
    expect(stalled()).toBe(0);
    buffer.send(changeAt(4));
    jest.advanceTimersByTime(30_000);
    expect(stalled()).toBe(1);
  });
});
