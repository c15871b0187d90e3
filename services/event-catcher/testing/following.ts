import { pino } from 'pino';
import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import { NewHeads } from '../../../shared/chain/new-heads.websocket.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import type { LeasedLoopOptions } from '../../../shared/loops/leased-loop.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import { BackfillBounds, type BoundsOfBackfill } from '../follow-chain/backfill-bounds.ts';
import { followChain } from '../follow-chain/chain-follower.ts';
import type { FollowSettings } from '../follow-chain/followed-chain.ts';
import { ProgressMeter } from '../follow-chain/progress-meter.ts';
import { StoredRecords } from '../follow-chain/verify-chain/stored-records.ts';
import { Watches } from '../follow-chain/watches.ts';
import { projectedRecords } from './projected-records.ts';

const UNBOUNDED = { records: Infinity, blocks: Infinity };

/** Returns the function that follows a chain for one lease term. */
export const following = (
  settings: FollowSettings,
  eventStore: EventStore,
  reader: ChainReader,
  meter = new ProgressMeter(systemClock),
  most: BoundsOfBackfill = UNBOUNDED,
  isReadStoreAway = () => false,
): LeasedLoopOptions['run'] => {
  const watches = new Watches(eventStore, settings.chainId);
  const logger = pino({ level: 'silent' });
  const always = { newHeads: new NewHeads(), clock: systemClock, ids: systemIds, logger };
  const readStore = projectedRecords(eventStore, isReadStoreAway);
  const bounds = new BackfillBounds({ ...always, eventStore }, readStore, most);
  const storedRecords = new StoredRecords(readStore);
  const dependencies = { ...always, eventStore, reader, watches, meter, bounds, storedRecords };
  return async (signal, reportRunning, term) => {
    await readStore.define(collections);
    return followChain(settings, dependencies, signal, reportRunning, term);
  };
};
