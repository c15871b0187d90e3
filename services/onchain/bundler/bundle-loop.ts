import type { Logger } from 'pino';
import { onchainStream } from '../../../schemas/events/onchain/onchain-events.ts';
import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { isAborted } from '../../../shared/primitives/waiting/is-aborted.ts';
import { LogThrottle } from '../../../shared/primitives/log-throttle.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { WakeUp } from '../../../shared/primitives/waiting/wake-up.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import {
  applyEvent,
  checkpointName,
  eventTypesFor,
  recoverOperations,
  type StartedBundler,
} from './recover-operations.ts';

/**
 * Pauses between polls of the chain: `BUSY_MS` while a bundle is pending or an operation waits for a bundle,
 * `UNAVAILABLE_MS` after the chain did not answer, else `IDLE_MS`.
 */
const BUSY_MS = 15;
const IDLE_MS = 1_000;
const UNAVAILABLE_MS = 500;

const PREPARED = 'ChainPrepared';

export interface PreparedBundler extends StartedBundler {
  /** Whether `annals chain prepare` stored other contracts or executors for the chain after this bundler began. */
  isOutdated: () => Promise<boolean>;
}

interface BundleLoopOptions {
  chainId: number;
  eventStore: Pick<EventStore, 'readAll' | 'subscribeAll'>;
  readStore: ReadStore;
  /** Makes a new bundler; `undefined` until `annals chain prepare` has run for the chain. */
  begin: () => Promise<PreparedBundler | undefined>;
  logger: Logger;
}

/**
 * Returns the loop that sends the operations of one chain in bundles. By a lease, one process at a time runs the loop
 * (decision 0009).
 */
export const bundleLoop = (options: BundleLoopOptions): SupervisedLoop =>
  leasedLoop({
    name: `bundle-operations-${String(options.chainId)}`,
    leases: options.readStore,
    logger: options.logger,
    run: async (signal, reportRunning) => {
      while (!isAborted(signal)) await runAsPrepared({ ...options, signal, reportRunning });
    },
  });

type Run = BundleLoopOptions & { signal: AbortSignal; reportRunning: () => void };

/** Runs a bundler until `annals chain prepare` stores other contracts or executors, or until the signal aborts. */
const runAsPrepared = async (run: Run): Promise<void> => {
  const recovered = await recover(run);
  if (!recovered) return;
  const ending = new AbortController();
  const ended = { ...run, signal: AbortSignal.any([run.signal, ending.signal]) };
  const wakeUp = new WakeUp();
  const onEvent = async (event: StoredEvent) => {
    if (event.type !== PREPARED) return applyEvent(recovered, event);
    if (event.stream === onchainStream(run.chainId) && (await recovered.isOutdated())) ending.abort();
  };
  try {
    await Promise.all([followEvents(ended, recovered, wakeUp, onEvent), bundle(ended, recovered, wakeUp)]);
  } finally {
    ending.abort();
  }
};

type Recovered = PreparedBundler & { after: Position };

/**
 * Returns a bundler with the state that earlier processes stored. Retries until `annals chain prepare` has run and the
 * chain answers; returns `undefined` if the signal aborts first.
 */
const recover = async (run: Run): Promise<Recovered | undefined> => {
  const reported = new LogThrottle();
  while (!isAborted(run.signal)) {
    const begun = await run.begin();
    run.reportRunning();
    try {
      if (begun) return { ...begun, after: await recoverOperations(begun, run) };
    } catch (error) {
      warnUnavailable(run, reported, error);
    }
    await pause(IDLE_MS, run.signal);
  }
  return undefined;
};

const followEvents = async (
  { eventStore, signal }: Run,
  recovered: Recovered,
  wakeUp: WakeUp,
  onEvent: (event: StoredEvent) => Promise<void>,
): Promise<void> => {
  const types = [...eventTypesFor(recovered), PREPARED];
  for await (const batch of eventStore.subscribeAll(recovered.after, { types }, signal)) {
    for (const event of batch.events) await onEvent(event);
    if (batch.events.length > 0) wakeUp.ring();
  }
};

const bundle = async (run: Run, { bundler }: Recovered, wakeUp: WakeUp): Promise<void> => {
  const { chainId, readStore, signal, reportRunning } = run;
  const reported = new LogThrottle();
  let recordedUpTo = -1;
  while (!isAborted(signal)) {
    const seen = wakeUp.rung;
    let pauseMs = IDLE_MS;
    try {
      const hasProgressed = await bundler.step();
      reportRunning();
      if (bundler.recordedUpTo > recordedUpTo) {
        recordedUpTo = bundler.recordedUpTo;
        await readStore.apply(checkpointName(chainId), [], recordedUpTo);
      }
      if (hasProgressed) continue;
      if (bundler.isBusy) pauseMs = BUSY_MS;
    } catch (error) {
      warnUnavailable(run, reported, error);
      pauseMs = UNAVAILABLE_MS;
    }
    // A stored event, such as a newly submitted operation, ends the pause early.
    await wakeUp.wait(seen, AbortSignal.any([signal, AbortSignal.timeout(pauseMs)]));
  }
};

/** Logs that the chain does not answer (ChainUnavailable), and throws every other error again. */
const warnUnavailable = ({ chainId, logger }: Run, reported: LogThrottle, error: unknown): void => {
  if (!(error instanceof ChainUnavailable)) throw error;
  if (reported.isDue(error.message))
    logger.warn({ chainId, err: error }, 'the chain does not answer: stored operations wait until it does');
};
