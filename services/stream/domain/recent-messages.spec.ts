import { describe, expect, it } from '@jest/globals';
import { ChainMessage } from './chain-message.ts';
import { RecentMessages } from './recent-messages.ts';

const message = (position: number, value = '{}'): ChainMessage => {
  const headers = { ce_type: 'annals.ChainEventObserved.v1', ce_position: String(position) };
  const made = ChainMessage.parse({ key: 'key', headers, value });
  if (!made) throw new Error('no message');
  return made;
};
const positionsAfter = (recent: RecentMessages, position: number) =>
  Array.from(recent.after(position), (one) => one.position);

describe('recent messages', () => {
  it('take each position once, even when the relay publishes it again', () => {
    const recent = new RecentMessages(true);
    const taken = [5, 7, 5, 7, 8, 6].map((position) => recent.add(message(position)));
    expect(taken).toEqual([true, true, false, false, true, false]);
    expect(positionsAfter(recent, 0)).toEqual([5, 7, 8]);
    expect(positionsAfter(recent, 5)).toEqual([7, 8]);
    expect(positionsAfter(recent, 6)).toEqual([7, 8]);
    expect(positionsAfter(recent, 8)).toEqual([]);
  });

  it('are complete from the beginning of an empty partition, and of any other from their first message on', () => {
    const whole = new RecentMessages(true);
    const part = new RecentMessages(false);
    expect([whole.completeAfter, part.completeAfter]).toEqual([0, Infinity]);
    whole.add(message(5));
    part.add(message(5));
    expect([whole.completeAfter, part.completeAfter]).toEqual([0, 4]);
  });

  it('drop the oldest beyond ten thousand, and are complete only after it', () => {
    const recent = new RecentMessages(true);
    for (let position = 1; position <= 10_003; position += 1) recent.add(message(position));
    expect(recent.completeAfter).toBe(3);
    expect(recent.oldest).toBe(4);
    expect(positionsAfter(recent, 3)).toHaveLength(10_000);
  });

  it('have an oldest and a newest, unless they are empty', () => {
    const recent = new RecentMessages(true);
    expect([recent.oldest, recent.newest, positionsAfter(recent, 0)]).toEqual([undefined, 0, []]);
    recent.add(message(5));
    recent.add(message(7));
    expect([recent.oldest, recent.newest]).toEqual([5, 7]);
  });

  it('are kept up to exactly four million characters', () => {
    const recent = new RecentMessages(true);
    for (const position of [1, 2, 3, 4]) recent.add(message(position, 'x'.repeat(1_000_000)));
    expect(recent.oldest).toBe(1);
    recent.add(message(5, 'x'));
    expect(recent.oldest).toBe(2);
    for (const position of [6, 7]) recent.add(message(position, 'x'.repeat(499_999)));
    expect(recent.oldest).toBe(2);
  });

  it('drop the oldest beyond four million characters, but never the newest', () => {
    const recent = new RecentMessages(true);
    const large = 'x'.repeat(3_000_000);
    recent.add(message(1, large));
    recent.add(message(2, large));
    expect([recent.completeAfter, recent.oldest]).toEqual([1, 2]);
    recent.add(message(3, large + large));
    expect([recent.completeAfter, recent.oldest, recent.newest]).toEqual([2, 3, 3]);
  });
});
