import { pino } from 'pino';
import type { ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { NewHeads } from '../../../../shared/chain/client/new-heads.websocket.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import type { LeasedLoopOptions } from '../../../../shared/loops/leased-loop.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { BackfillBounds, type BoundsOfBackfill } from '../../follow-chain/backfill/backfill-bounds.ts';
import { followChain } from '../../follow-chain/chain-follower.ts';
import type { AnnouncedHeads, FollowSettings } from '../../follow-chain/followed-chain.ts';
import { ProgressMeter } from '../../follow-chain/chains/progress-meter.ts';
import { StoredRecords } from '../../follow-chain/verification/stored-records.ts';
import { Watches } from '../../follow-chain/watches/watches.ts';
import { projectedRecords } from '../projected-records.ts';

const silent = pino({ level: 'silent' });
const UNBOUNDED = { records: Infinity, blocks: Infinity };

/** The settings of a chain that is polled without rest, and not verified, with these changes. */
export const followSettings = (changes: Partial<FollowSettings> = {}): FollowSettings => ({
  ...{ chainId: 2484, finality: 'finalized', confirmations: 5, isLocal: false, isDevelopment: false, rangesMax: 10 },
  ...{ pollMs: 1, pollMsMax: 1, verification: { everyMs: 3_600_000, callMs: 0 } },
  ...changes,
});

interface Given {
  eventStore: EventStore;
  reader: ChainReader;
  meter?: ProgressMeter;
  /** The bounds of each backfill. */
  most?: BoundsOfBackfill | undefined;
  readStore?: ReadStore;
  newHeads?: AnnouncedHeads;
}

/** Returns the function that follows a chain for one lease term. */
export const following = (
  settings: FollowSettings,
  {
    eventStore,
    reader,
    meter = new ProgressMeter(systemClock),
    most = UNBOUNDED,
    readStore = projectedRecords(eventStore),
    newHeads = new NewHeads(),
  }: Given,
): LeasedLoopOptions['run'] => {
  const watches = new Watches(eventStore, settings.chainId);
  const always = { newHeads, clock: systemClock, ids: systemIds, logger: silent };
  const bounds = new BackfillBounds({ ...always, eventStore }, readStore, most);
  const storedRecords = new StoredRecords(readStore);
  const dependencies = { ...always, eventStore, reader, watches, meter, bounds, storedRecords };
  return async (signal, reportRunning, term) => {
    await readStore.define(collections);
    return followChain(settings, dependencies, signal, reportRunning, term);
  };
};
