import { describe, expect, it } from '@jest/globals';
import { ChainMessage } from './chain-message.ts';
import { RecentMessages } from './recent-messages.ts';

const message = (position: number, value = '{}'): ChainMessage => {
  const headers = { ce_type: 'annals.ChainEventObserved.v1', ce_position: String(position) };
  const made = ChainMessage.of({ key: 'key', headers, value });
  if (!made) throw new Error('no message');
  return made;
};
const positionsAfter = (recent: RecentMessages, position: number) =>
  Array.from(recent.after(position), (one) => one.position);

describe('recent messages', () => {
  it('take each position once, however often the relay publishes it', () => {
    const recent = new RecentMessages(true);
    const taken = [5, 7, 5, 7, 8, 6].map((position) => recent.add(message(position)));
    expect(taken).toEqual([true, true, false, false, true, false]);
    expect(positionsAfter(recent, 0)).toEqual([5, 7, 8]);
    expect(positionsAfter(recent, 5)).toEqual([7, 8]);
    expect(positionsAfter(recent, 6)).toEqual([7, 8]);
    expect(positionsAfter(recent, 8)).toEqual([]);
  });

  it('hold everything of a partition that was empty, and of another what follows the first they saw', () => {
    const whole = new RecentMessages(true);
    const part = new RecentMessages(false);
    expect([whole.floor, part.floor]).toEqual([0, Infinity]);
    whole.add(message(5));
    part.add(message(5));
    expect([whole.floor, part.floor]).toEqual([0, 4]);
  });

  it('forget the oldest beyond ten thousand, and say so', () => {
    const recent = new RecentMessages(true);
    for (let position = 1; position <= 10_003; position += 1) recent.add(message(position));
    expect(recent.floor).toBe(3);
    expect(recent.oldest).toBe(4);
    expect(positionsAfter(recent, 3)).toHaveLength(10_000);
  });

  it('know their oldest and newest, if there are any', () => {
    const recent = new RecentMessages(true);
    expect([recent.oldest, recent.newest, positionsAfter(recent, 0)]).toEqual([undefined, 0, []]);
    recent.add(message(5));
    recent.add(message(7));
    expect([recent.oldest, recent.newest]).toEqual([5, 7]);
  });

  it('are kept up to the last of four million characters', () => {
    const recent = new RecentMessages(true);
    for (const position of [1, 2, 3, 4]) recent.add(message(position, 'x'.repeat(1_000_000)));
    expect(recent.oldest).toBe(1);
    recent.add(message(5, 'x'));
    expect(recent.oldest).toBe(2);
    for (const position of [6, 7]) recent.add(message(position, 'x'.repeat(499_999)));
    expect(recent.oldest).toBe(2);
  });

  it('forget by size as well, but never the newest', () => {
    const recent = new RecentMessages(true);
    const large = 'x'.repeat(3_000_000);
    recent.add(message(1, large));
    recent.add(message(2, large));
    expect([recent.floor, recent.oldest]).toEqual([1, 2]);
    recent.add(message(3, large + large));
    expect([recent.floor, recent.oldest, recent.newest]).toEqual([2, 3, 3]);
  });
});
