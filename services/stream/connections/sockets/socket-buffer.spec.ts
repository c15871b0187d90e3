import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Socket } from 'socket.io';
import { StreamMetrics } from '../../edge/stream-metrics.ts';
import { changeAt } from '../../testing/some-subscription.ts';
import { SocketBuffer } from './socket-buffer.socketio.ts';
import { WriteQueue } from './write-queue.ts';

const limits = { stallGraceMs: 3_000 };
const someWrites = () => ({ queue: new WriteQueue(), metrics: new StreamMetrics(), limits });

/** A connection whose client reads when the test says so. */
const aBuffer = () => {
  const unread: (() => void)[] = [];
  const write = (_packet: string, _options: object, onRead: () => void) => unread.push(onRead);
  let stalled = 0;
  const buffer = new SocketBuffer({ write } as unknown as Socket['conn'], someWrites(), () => (stalled += 1));
  const send = (position: number) => {
    buffer.send(changeAt(position));
    buffer.flush();
  };
  const misses = (count: number) => {
    for (let position = 0; position < count; position += 1) buffer.countMissed(changeAt(position));
  };
  return { send, misses, readOne: () => unread.shift()?.(), stalled: () => stalled };
};

describe('a client that reads nothing of what waits for it', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is given up after 30 s, however little waits', () => {
    const { send, stalled } = aBuffer();
    send(1);
    jest.advanceTimersByTime(29_999);
    expect(stalled()).toBe(0);
    jest.advanceTimersByTime(1);
    expect(stalled()).toBe(1);
  });

  it('has another 30 s whenever it reads something, and for ever when nothing waits', () => {
    const { send, readOne, stalled } = aBuffer();
    for (const position of [1, 2, 3]) send(position);
    for (let read = 0; read < 3; read += 1) {
      jest.advanceTimersByTime(29_000);
      readOne();
    }
    jest.advanceTimersByTime(3_600_000);
    expect(stalled()).toBe(0);
    send(4);
    jest.advanceTimersByTime(30_000);
    expect(stalled()).toBe(1);
  });

  it('is given up sooner when it misses much meanwhile, unless it reads again within a grace period', () => {
    const { send, misses, readOne, stalled } = aBuffer();
    for (const position of [1, 2]) send(position);
    misses(512);
    jest.advanceTimersByTime(10_000);
    expect(stalled()).toBe(0);
    misses(1);
    jest.advanceTimersByTime(2_999);
    readOne();
    jest.advanceTimersByTime(10_000);
    expect(stalled()).toBe(0);
    misses(513);
    jest.advanceTimersByTime(2_999);
    expect(stalled()).toBe(0);
    jest.advanceTimersByTime(1);
    expect(stalled()).toBe(1);
  });
});

describe('what is sent to several clients in one tick', () => {
  it('is written to each at once, as WebSocket messages that were encoded and joined once for all', async () => {
    const written: Buffer[] = [];
    const write = (_packet: string, { wsPreEncodedFrame }: { wsPreEncodedFrame: Buffer[] }) =>
      written.push(...wsPreEncodedFrame);
    const writes = someWrites();
    const buffers = Array.from(
      { length: 2 },
      () => new SocketBuffer({ write } as unknown as Socket['conn'], writes, () => undefined),
    );
    const long = { ...changeAt(2), json: JSON.stringify('ü'.repeat(40_000)) };
    for (const delivery of [changeAt(1), long, changeAt(3)]) for (const buffer of buffers) buffer.send(delivery);
    expect(written).toHaveLength(0);
    await Promise.resolve();
    expect(written).toHaveLength(2);
    expect(written[1]).toBe(written[0]);
    expect(messagesIn(written[0])).toEqual(
      [changeAt(1), long, changeAt(3)].map(({ json }) => `42/events,["event",${json}]`),
    );
    expect(buffers.map(({ bytesUnsent }) => bytesUnsent)).toEqual([written[0]?.length, written[0]?.length]);
  });
});

/** Reads unmasked text messages: RFC 6455, section 5.2. */
const messagesIn = (bytes: Buffer = Buffer.alloc(0)): string[] => {
  const messages: string[] = [];
  for (let at = 0; at < bytes.length;) {
    expect(bytes[at]).toBe(0x81);
    const short = bytes.readUInt8(at + 1);
    let [start, length] = [at + 2, short];
    if (short === 126) [start, length] = [at + 4, bytes.readUInt16BE(at + 2)];
    if (short === 127) [start, length] = [at + 10, Number(bytes.readBigUInt64BE(at + 2))];
    messages.push(bytes.toString('utf8', start, start + length));
    at = start + length;
  }
  return messages;
};
