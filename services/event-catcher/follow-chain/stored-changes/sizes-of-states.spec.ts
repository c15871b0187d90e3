import { describe, expect, it } from '@jest/globals';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { initialProgress } from '../../domain/chain-progress.ts';
import { initialVerification } from '../../domain/verification.ts';
import { RANGES_MAX } from '../chains/chain-loops.ts';
import { REASON_MAX } from '../unread-blocks/leave-unread.ts';
import { ChainAppends } from './chain-appends.ts';
import { ProgressStream } from './progress-stream.ts';
import { VerificationStream } from './verification-stream.ts';

/** What EventStoreDB takes in one append, with some left for the window of a chain, and for watches that are behind. */
const BYTES_MAX = 900_000;
const BLOCK = 400_000_000;
const idOf = (at: number): string => `wch_${String(at).padStart(26, '0')}`;

const stores = () => {
  const eventStore = new MemoryEventStore();
  const dependencies = { eventStore, clock: systemClock, ids: systemIds };
  return { eventStore, appends: new ChainAppends(dependencies, new AbortController().signal, false) };
};
const newestBytes = async ({ eventStore }: ReturnType<typeof stores>, stream: string): Promise<number> => {
  const [newest] = await eventStore.read(stream, { direction: 'backwards', limit: 1 });
  return Buffer.byteLength(JSON.stringify(newest?.data));
};

describe('the state of a chain with thousands of watches', () => {
  it('has one event that every store takes where each range is a gap', async () => {
    const hash = `0x${'5'.repeat(64)}`;
    const gap = { reason: 'n'.repeat(REASON_MAX), since: new Date().toISOString() };
    const backfills = Array.from({ length: RANGES_MAX }, (_, at) => {
      const from = BLOCK + at;
      return { watchId: idOf(at), from, next: from, to: 2 * BLOCK, joins: false, gap };
    });
    const known = stores();
    const stream = await ProgressStream.load(known, 2484);
    const progress = initialProgress([{ number: 2 * BLOCK, hash, parentHash: hash, timestamp: 0 }], 0);
    await stream.append({ ...progress, backfills });
    expect(await newestBytes(known, 'chain-2484')).toBeLessThan(BYTES_MAX);
  });

  it('has one event that every store takes where each watch has many blocks that cannot be verified, and forgets none', async () => {
    const [watches, parts] = [1_000, 20];
    const skipped = Array.from({ length: watches * parts }, (_, at) => {
      const next = BLOCK + at * 10;
      return { watchId: idOf(at % watches), next, to: next + 5 };
    });
    const known = stores();
    const stream = await VerificationStream.load(known, 2484);
    await stream.append({ ...initialVerification, skipped });
    expect(await newestBytes(known, 'chain-2484-verified')).toBeLessThan(BYTES_MAX / 2);
    expect(stream.stored.skipped).toEqual(skipped);
    const loaded = (await VerificationStream.load(known, 2484)).stored.skipped;
    expect(loaded).toHaveLength(watches);
    const isCovered = ({ watchId, next, to }: (typeof skipped)[number]) =>
      loaded.some((one) => one.watchId === watchId && one.next <= next && to <= one.to);
    expect(skipped.every(isCovered)).toBe(true);
  });
});
