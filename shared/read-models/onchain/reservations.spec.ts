import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { sponsorshipStream } from '../../../schemas/events/onchain/sponsorship-events.ts';
import type { StoredEvent } from '../../event-store/event-store.ts';
import { storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { reservationsModel } from './reservations.ts';

const { sender } = eventExamples.SponsorshipReserved;
const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const stream = sponsorshipStream('app_1', '2026-01-31');
const slot = { appId: 'app_1', chainId: 10, sender, nonce: '7' };
const id = `${stream}/10/${sender.toLowerCase()}/7`;
const first = { userOpHash: hash('1'), userId: 'usr_1', maxCostWei: '900', headBlock: 5 };
const until = (minute: number): string => `2026-01-31T12:${String(minute)}:00.000Z`;

const reserved = (position: number, more: Partial<typeof first & { validUntil: string }> = {}) =>
  storedEvent('SponsorshipReserved', { ...slot, ...first, validUntil: until(10), ...more }, { position, stream });
const settled = (position: number, userOpHash = hash('1')) =>
  storedEvent(
    'SponsorshipSettled',
    { ...slot, userOpHash, costWei: '600', blockHash: hash('b'), blockNumber: 7 },
    { position, stream },
  );
const released = (position: number) =>
  storedEvent('SponsorshipReleased', { ...slot, userOpHash: hash('1') }, { position, stream });

const documentOf = async (...events: StoredEvent[]) => (await project(reservationsModel, events))['reservation']?.[id];

const NOT_SETTLED = { costWei: null, blockHash: null, blockNumber: null, settledBy: null };

describe('a reservation', () => {
  it('has what its signature may cost, where it is stored and of which day it is', async () => {
    expect(await documentOf(reserved(1))).toEqual({
      id,
      stream,
      appId: 'app_1',
      day: '2026-01-31',
      userId: 'usr_1',
      chainId: 10,
      sender,
      nonce: '7',
      maxCostWei: '900',
      userOpHashes: [hash('1')],
      validUntil: '2026-01-31T12:10:00.000Z',
      headBlock: 5,
      state: 'reserved',
      costWei: null,
      blockHash: null,
      blockNumber: null,
      settledBy: null,
    });
  });

  it('is shared by the signatures of its nonce: the largest cost, the latest time, the earliest block', async () => {
    const userOpHash = hash('2');
    const userOpHashes = [hash('1'), hash('2')];
    const larger = { maxCostWei: '1000', headBlock: 4, validUntil: until(11) };
    expect(await documentOf(reserved(1), reserved(2, { userOpHash, ...larger }))).toMatchObject({
      ...{ ...larger, userOpHashes },
    });
    const smaller = { maxCostWei: '89', headBlock: 6, validUntil: until(10) };
    const before = { maxCostWei: '900', headBlock: 5, validUntil: until(12) };
    expect(await documentOf(reserved(1, before), reserved(2, { userOpHash, ...smaller }))).toMatchObject({
      ...{ ...before, userOpHashes },
    });
  });

  it('is settled to the cost, by the operation that a block has', async () => {
    expect(await documentOf(reserved(1), settled(2))).toMatchObject({
      ...{ state: 'settled', costWei: '600', blockHash: hash('b'), blockNumber: 7, settledBy: hash('1') },
      maxCostWei: '900',
    });
  });

  it('stays settled when another is signed for its nonce, and is reserved again with its own operation', async () => {
    const another = { userOpHash: hash('2'), maxCostWei: '1000' };
    expect(await documentOf(reserved(1), settled(2), reserved(3, another))).toMatchObject({
      ...{ state: 'settled', costWei: '600', settledBy: hash('1') },
    });
    expect(await documentOf(reserved(1), settled(2), reserved(3))).toMatchObject({ state: 'reserved', ...NOT_SETTLED });
  });

  it('is released, and reserves after that no more than a new signature may cost', async () => {
    expect(await documentOf(reserved(1), released(2))).toMatchObject({ state: 'released', ...NOT_SETTLED });
    const cheap = { userOpHash: hash('2'), maxCostWei: '5' };
    expect(await documentOf(reserved(1), released(2), reserved(3, cheap))).toMatchObject({
      ...{ state: 'reserved', maxCostWei: '5' },
    });
  });

  it('does not begin with a settlement or a release', async () => {
    expect(await documentOf(settled(1), released(2))).toBeUndefined();
  });
});
