import type { Logger } from 'pino';
import { onchainStream } from '../../../schemas/events/onchain-events.ts';
import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { isAborted } from '../../../shared/primitives/is-aborted.ts';
import { LogThrottle } from '../../../shared/primitives/log-throttle.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { WakeUp } from '../../../shared/primitives/wake-up.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Bundler } from './bundler.ts';
import { checkpointOf, followedBy, recoverOperations, takeOver, type Begun } from './recover-operations.ts';

/** How often the chain is looked at: while something is under way, and else. */
const BUSY_MS = 15;
const IDLE_MS = 1_000;
const UNAVAILABLE_MS = 500;

const PREPARED = 'ChainPrepared';

export interface BegunAsPrepared extends Begun {
  /** Whether the chain was prepared otherwise since, perhaps with more executors. */
  isOutdated: () => Promise<boolean>;
}

interface BundleLoopOptions {
  chainId: number;
  eventStore: Pick<EventStore, 'readAll' | 'subscribeAll'>;
  readStore: ReadStore;
  /** Made anew whenever this process begins to work; `undefined` while the chain is not prepared. */
  begin: () => Promise<BegunAsPrepared | undefined>;
  logger: Logger;
}

/** Sends the operations of one chain, in one process at a time. */
export const bundleLoop = ({ chainId, eventStore, readStore, begin, logger }: BundleLoopOptions): SupervisedLoop =>
  leasedLoop({
    name: `bundle-operations-${String(chainId)}`,
    leases: readStore,
    logger,
    run: async (signal, reportRunning) => {
      while (!isAborted(signal))
        await asPrepared({ chainId, begin, eventStore, readStore, signal, reportRunning, logger });
    },
  });

type Parts = BundleLoopOptions & { signal: AbortSignal; reportRunning: () => void };

/** Works with the executors with which the chain is prepared, until that is another way or the signal aborts. */
const asPrepared = async (parts: Parts): Promise<void> => {
  const { chainId, eventStore, readStore, signal, reportRunning, logger } = parts;
  const recovered = await recover(parts);
  if (!recovered) return;
  const { bundler, after } = recovered;
  const ending = new AbortController();
  const stopSignal = AbortSignal.any([signal, ending.signal]);
  const taken = new WakeUp();
  const take = async (event: StoredEvent) => {
    if (event.type !== PREPARED) return takeOver(recovered, event);
    if (event.stream === onchainStream(chainId) && (await recovered.isOutdated())) ending.abort();
  };
  try {
    await Promise.all([
      follow({ eventStore, after, types: [...followedBy(recovered), PREPARED], signal: stopSignal, take, taken }),
      work({ bundler, readStore, chainId, taken, signal: stopSignal, logger, reportRunning }),
    ]);
  } finally {
    ending.abort();
  }
};

/** Takes over what earlier processes have left, once the chain is prepared and its node answers. */
const recover = async ({
  chainId,
  begin,
  eventStore,
  readStore,
  signal,
  reportRunning,
  logger,
}: Parts): Promise<(BegunAsPrepared & { after: Position }) | undefined> => {
  const reported = new LogThrottle();
  while (!isAborted(signal)) {
    const begun = await begin();
    reportRunning();
    if (begun) {
      try {
        return { ...begun, after: await recoverOperations(begun, { chainId, eventStore, readStore }) };
      } catch (error) {
        if (!(error instanceof ChainUnavailable)) throw error;
        warn(logger, reported, chainId, error);
      }
    }
    await pause(IDLE_MS, signal);
  }
  return undefined;
};

const warn = (logger: Logger, reported: LogThrottle, chainId: number, error: ChainUnavailable): void => {
  if (reported.isDue(error.message))
    logger.warn({ chainId, err: error }, 'a chain does not answer: what is stored waits');
};

const follow = async ({
  eventStore,
  after,
  types,
  signal,
  take,
  taken,
}: {
  eventStore: Pick<EventStore, 'subscribeAll'>;
  after: Position;
  types: readonly string[];
  signal: AbortSignal;
  take: (event: StoredEvent) => Promise<void>;
  taken: WakeUp;
}): Promise<void> => {
  for await (const batch of eventStore.subscribeAll(after, { types }, signal)) {
    for (const event of batch.events) await take(event);
    if (batch.events.length > 0) taken.ring();
  }
};

const work = async ({
  bundler,
  readStore,
  chainId,
  taken,
  signal,
  logger,
  reportRunning,
}: {
  bundler: Bundler;
  readStore: Pick<ReadStore, 'apply'>;
  chainId: number;
  taken: WakeUp;
  signal: AbortSignal;
  logger: Logger;
  reportRunning: () => void;
}): Promise<void> => {
  const reported = new LogThrottle();
  let recordedUpTo = -1;
  while (!isAborted(signal)) {
    const seen = taken.rung;
    let pauseMs = IDLE_MS;
    try {
      const hasMoved = await bundler.step();
      reportRunning();
      if (bundler.recordedUpTo > recordedUpTo) {
        recordedUpTo = bundler.recordedUpTo;
        await readStore.apply(checkpointOf(chainId), [], recordedUpTo);
      }
      if (hasMoved) continue;
      if (bundler.isBusy) pauseMs = BUSY_MS;
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      pauseMs = UNAVAILABLE_MS;
      if (reported.isDue(error.message))
        logger.warn({ chainId, err: error }, 'a chain does not answer: what is stored waits');
    }
    await wakeOrPause(taken, seen, pauseMs, signal);
  }
};

/** Returns when something was submitted, or after that time. */
const wakeOrPause = async (taken: WakeUp, seen: number, timeMs: number, signal: AbortSignal): Promise<void> => {
  const late = AbortSignal.timeout(timeMs);
  await taken.wait(seen, AbortSignal.any([signal, late]));
};
