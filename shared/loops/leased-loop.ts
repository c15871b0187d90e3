import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Coordination, Lease } from '../coordination/coordination.ts';
import { isAborted } from '../primitives/waiting/is-aborted.ts';
import { pause } from '../primitives/waiting/pause.ts';
import { pauseAligned } from '../primitives/waiting/pause-aligned.ts';
import { untilAborted } from '../primitives/waiting/until-aborted.ts';
import { withinDeadline } from '../primitives/waiting/within-deadline.ts';
import { ENDED, GIVEN, hasEnded, THIS_PROCESS } from './lease-holder.ts';
import { SupervisedLoop, type ReportState } from './supervised-loop.ts';

type Leases = Pick<Coordination, 'lease' | 'replaceLease' | 'renewLease'>;

const RENEW_EVERY_MS = 1_000;
const POLL_EVERY_MS = 500;
/** A holder that could not renew for this long stops by itself, before another process may take over. */
const GIVES_UP_AFTER_MS = 4_000;
/**
 * A holder that was silent for this long is replaced. Never compares the clocks of two machines: each process measures
 * the silence with its own clock.
 */
const SILENT_AFTER_MS = 5_500;
const RELEASE_TIMEOUT_MS = 1_000;

/** The time for which one process has the lease. */
export interface LeaseTerm {
  /** Whether the previous holder ended with no request in flight. `false` if the lease is new. */
  readonly nothingInFlightBefore: boolean;
  /**
   * To be set if a request of this holder, or of an earlier one, may be in flight at the end. The next holder is
   * notified.
   */
  leavesInFlight: boolean;
}

/** How processes divide several leases among themselves. */
export interface LeaseSharing {
  /**
   * Whether to take a lease that was released, or is new. A lease whose holder is silent, or was a process that has
   * ended, is taken at once.
   * @param freeMs how long it was free, as far as this process knows
   * @param wasGiven whether its holder passed it on, and is still running
   */
  mayTake: (freeMs: number, wasGiven: boolean) => boolean;
  /**
   * Called when the lease was won.
   * @returns a signal that aborts when the lease must be passed on to another process
   */
  begin: () => AbortSignal;
  /** Called when the lease was released or lost. */
  end: () => void;
}

export interface LeasedLoopOptions {
  /** The name of the lease and of the loop. */
  name: string;
  leases: Leases;
  logger: Logger;
  /** Default: this process. */
  holder?: string;
  /** Default: the first process to come has the lease, and keeps it. */
  sharing?: LeaseSharing;
  /** The work of one process at a time, which continues until the signal aborts. */
  run: (signal: AbortSignal, reportRunning: () => void, term: LeaseTerm) => Promise<void>;
}

interface AcquiredLease {
  lease: Lease;
  /** When the lease was requested. The time until it must be renewed counts from then. */
  requestedAt: number;
  nothingInFlightBefore: boolean;
}

/**
 * A supervised loop that runs in one process at a time. The others are on standby; one of them takes over when the
 * holder ends, releases the lease, or is silent. A holder that was only slow learns at its next renewal, or by its own
 * timer, that it lost the lease. Requests that it sent before may still be carried out. So the work must be safe to
 * repeat; otherwise a term without `nothingInFlightBefore` must begin with a fence, after which the requests of all
 * earlier holders are refused.
 */
export const leasedLoop = (options: LeasedLoopOptions): SupervisedLoop =>
  new SupervisedLoop(options.name, options.logger, async (signal, report) => {
    for (let isGiven = true; isGiven;) {
      const won = await waitForLease(options, signal, report);
      isGiven = won !== undefined && (await workUntilLost(options, won, signal, report));
    }
  });

const waitForLease = async (
  { name, leases, logger, holder = THIS_PROCESS, sharing }: LeasedLoopOptions,
  signal: AbortSignal,
  report: ReportState,
): Promise<AcquiredLease | undefined> => {
  let hasStoodBy = false;
  let seen: Lease | undefined;
  let seenAt = performance.now();
  while (!signal.aborted) {
    const current = await leases.lease(name);
    if (!isDeepStrictEqual(current, seen)) {
      seen = current;
      seenAt = performance.now();
    }
    const unchangedMs = performance.now() - seenAt;
    if (isToBeTaken(current, unchangedMs, sharing)) {
      const lease = { holder, epoch: (current?.epoch ?? 0) + 1, renewals: 0 };
      const requestedAt = performance.now();
      if (await leases.replaceLease(name, current, lease)) {
        // Logs a takeover at info, a first start at debug.
        logger[hasStoodBy ? 'info' : 'debug']({ lease: name, epoch: lease.epoch }, `${name} runs in this process`);
        return { lease, requestedAt, nothingInFlightBefore: current?.holder === null || current?.holder === GIVEN };
      }
    }
    hasStoodBy = true;
    report('standby');
    await pause(POLL_EVERY_MS, signal);
  }
  return undefined;
};

const isToBeTaken = (current: Lease | undefined, unchangedMs: number, sharing: LeaseSharing | undefined): boolean => {
  const holder = current?.holder ?? null;
  if (holder === null || holder === ENDED || holder === GIVEN) {
    return sharing?.mayTake(unchangedMs, holder === GIVEN) ?? true;
  }
  return hasEnded(holder) || unchangedMs >= SILENT_AFTER_MS;
};

/** @returns whether the lease was passed on, so that this process waits for it again */
const workUntilLost = async (
  options: LeasedLoopOptions,
  won: AcquiredLease,
  signal: AbortSignal,
  report: ReportState,
): Promise<boolean> => {
  const { name, run, sharing, logger } = options;
  const ending = new AbortController();
  const giving = sharing?.begin();
  const stopSignal = AbortSignal.any([signal, ending.signal, ...(giving ? [giving] : [])]);
  const stopWork = (reason: string) => {
    ending.abort(new Error(`${name} stops in this process: ${reason}`));
  };
  const term = { nothingInFlightBefore: won.nothingInFlightBefore, leavesInFlight: false };
  report('starting');
  const renewing = renew(options, won, stopSignal, stopWork);
  try {
    await run(stopSignal, report, term);
    if (ending.signal.aborted) throw ending.signal.reason;
    return giving?.aborted ?? false;
  } catch (error) {
    if (ending.signal.aborted || giving?.aborted !== true) throw error;
    logger.debug({ err: error, lease: name }, `${name} was given to another process`);
    return true;
  } finally {
    stopWork('its work ended');
    await renewing;
    const released = giving?.aborted ? GIVEN : null;
    await releaseLease(options, won.lease, term.leavesInFlight ? ENDED : released);
    sharing?.end();
  }
};

/** Renews until the signal aborts, and does not wait for a renewal that is in progress at that moment. */
const renew = async (
  { name, leases, logger }: LeasedLoopOptions,
  { lease, requestedAt }: AcquiredLease,
  signal: AbortSignal,
  stopWork: (reason: string) => void,
): Promise<void> => {
  const giveUpAt = (startedAt: number) => {
    const leftMs = Math.max(0, startedAt + GIVES_UP_AFTER_MS - performance.now());
    return setTimeout(stopWork, leftMs, 'its lease could not be renewed in time');
  };
  let timer = giveUpAt(requestedAt);
  while (!signal.aborted) {
    await pauseAligned(RENEW_EVERY_MS, signal);
    if (isAborted(signal)) break;
    const startedAt = performance.now();
    try {
      if (!(await untilAborted(leases.renewLease(name, lease), signal))) break;
      clearTimeout(timer);
      timer = giveUpAt(startedAt);
    } catch (error) {
      if (isAborted(signal)) break;
      logger.warn({ err: error, lease: name }, `${name} could not renew its lease and retries`);
    }
  }
  clearTimeout(timer);
  if (!isAborted(signal)) stopWork('another process has its lease');
};

/** Releases the lease, so that a standby need not wait. Gives up after a second: then a standby takes over later. */
const releaseLease = async (
  { name, leases, logger }: LeasedLoopOptions,
  lease: Lease,
  holder: Lease['holder'],
): Promise<void> => {
  const giving = async () => {
    // A last renewal is the read: its answer has the renewals that are stored.
    const current = await leases.renewLease(name, lease);
    if (current) await leases.replaceLease(name, current, { ...current, holder });
  };
  try {
    await withinDeadline('releasing the lease', RELEASE_TIMEOUT_MS, giving());
  } catch (error) {
    logger.warn({ err: error, lease: name }, `${name} did not release its lease: a standby takes over later`);
  }
};
