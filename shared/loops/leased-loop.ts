import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { isAborted } from '../primitives/is-aborted.ts';
import { pause } from '../primitives/pause.ts';
import { untilAborted } from '../primitives/until-aborted.ts';
import { withinDeadline } from '../primitives/within-deadline.ts';
import type { Lease, ReadStore } from '../read-store/read-store.ts';
import { ENDED, hasEnded, THIS_PROCESS } from './lease-holder.ts';
import { SupervisedLoop, type Reached } from './supervised-loop.ts';

type Leases = Pick<ReadStore, 'lease' | 'replaceLease'>;

/** Without a clock that two machines share: each measures with its own how long the other has been silent. */
export interface LeaseTiming {
  renewEveryMs: number;
  /** A holder that could not renew for so long stops by itself, before anybody may take its place. */
  givesUpAfterMs: number;
  /** A holder that was silent for so long is replaced. */
  silentAfterMs: number;
  lookEveryMs: number;
}
const TIMING: LeaseTiming = { renewEveryMs: 1_000, givesUpAfterMs: 4_000, silentAfterMs: 5_500, lookEveryMs: 500 };
const GIVE_BACK_WITHIN_MS = 1_000;

/** The time for which one process has the lease. */
export interface LeaseTerm {
  /** The holder before has ended, and no request of it is still in flight. */
  readonly nothingInFlightBefore: boolean;
  /** Set when a request of this holder, or of one before it, may still be in flight at the end: the next holder is told. */
  leavesInFlight: boolean;
}

export interface LeasedLoopOptions {
  /** Of the lease and of the loop. */
  name: string;
  leases: Leases;
  logger: Logger;
  /** Default: this process. */
  holder?: string;
  timing?: LeaseTiming;
  /** What one process at a time does, for ever, until the signal aborts. */
  run: (signal: AbortSignal, working: () => void, term: LeaseTerm) => Promise<void>;
}

interface Won {
  lease: Lease;
  /** When it was asked for: from then on it may be silent for so long. */
  askedAt: number;
  nothingInFlightBefore: boolean;
}

/**
 * A supervised loop of which one runs at a time, however many processes have it: the others stand by, and one of them
 * takes over when the holder ends, gives back, or is silent. One that was only slow learns of it at its next renewal, or
 * by its own timer; requests that it had in flight may still arrive, so its work must be safe to repeat, or whoever begins a
 * term without `nothingInFlightBefore` must have the requests of all earlier holders refused.
 */
export const leasedLoop = (options: LeasedLoopOptions): SupervisedLoop =>
  new SupervisedLoop(options.name, options.logger, async (signal, reached) => {
    const won = await waitForLease(options, signal, reached);
    if (won) await workUntilLost(options, won, signal, reached);
  });

const waitForLease = async (
  { name, leases, logger, holder = THIS_PROCESS, timing = TIMING }: LeasedLoopOptions,
  signal: AbortSignal,
  reached: Reached,
): Promise<Won | undefined> => {
  let hasStoodBy = false;
  let seen: Lease | undefined;
  let seenAt = performance.now();
  while (!signal.aborted) {
    const current = await leases.lease(name);
    if (!isDeepStrictEqual(current, seen)) {
      seen = current;
      seenAt = performance.now();
    }
    const isFree = !current?.holder || hasEnded(current.holder);
    if (isFree || performance.now() - seenAt >= timing.silentAfterMs) {
      const lease = { holder, epoch: (current?.epoch ?? 0) + 1, renewals: 0 };
      const askedAt = performance.now();
      if (await leases.replaceLease(name, current, lease)) {
        // Who had to wait for nobody has nothing to report.
        logger[hasStoodBy ? 'info' : 'debug']({ lease: name, epoch: lease.epoch }, `${name} works here`);
        return { lease, askedAt, nothingInFlightBefore: current?.holder === null };
      }
    }
    hasStoodBy = true;
    reached('standby');
    await pause(timing.lookEveryMs, signal);
  }
  return undefined;
};

const workUntilLost = async (
  options: LeasedLoopOptions,
  won: Won,
  signal: AbortSignal,
  reached: Reached,
): Promise<void> => {
  const { name, run } = options;
  const ending = new AbortController();
  const until = AbortSignal.any([signal, ending.signal]);
  const lost = (reason: string) => {
    ending.abort(new Error(`${name} stops here: ${reason}`));
  };
  const term = { nothingInFlightBefore: won.nothingInFlightBefore, leavesInFlight: false };
  reached('starting');
  const renewing = renew(options, won, until, lost);
  try {
    await run(until, reached, term);
    if (ending.signal.aborted) throw ending.signal.reason;
  } finally {
    lost('its work ended');
    await renewing;
    await giveBack(options, won.lease, term.leavesInFlight ? ENDED : null);
  }
};

/** Renews until the signal aborts. A renewal that hangs then is left alone. */
const renew = async (
  { name, leases, logger, timing = TIMING }: LeasedLoopOptions,
  { lease, askedAt }: Won,
  until: AbortSignal,
  lost: (reason: string) => void,
): Promise<void> => {
  const giveUpAt = (startedAt: number) => {
    const leftMs = Math.max(0, startedAt + timing.givesUpAfterMs - performance.now());
    return setTimeout(lost, leftMs, 'its lease could not be renewed in time');
  };
  let newest = lease;
  let timer = giveUpAt(askedAt);
  while (!until.aborted) {
    await pause(timing.renewEveryMs, until);
    if (isAborted(until)) break;
    const startedAt = performance.now();
    try {
      const renewed = await untilAborted(renewOnce(leases, name, newest), until);
      if (!renewed) break;
      newest = renewed;
      clearTimeout(timer);
      timer = giveUpAt(startedAt);
    } catch (error) {
      if (isAborted(until)) break;
      logger.warn({ err: error, lease: name }, `${name} could not renew its lease and tries again`);
    }
  }
  clearTimeout(timer);
  if (!isAborted(until)) lost('another process has its lease');
};

/** @returns the lease as it stands now, `undefined` when it is another's */
const renewOnce = async (leases: Leases, name: string, lease: Lease): Promise<Lease | undefined> => {
  const next = { ...lease, renewals: lease.renewals + 1 };
  return (await leases.replaceLease(name, lease, next)) ? next : currentLease(leases, name, lease);
};

/** A lease that is still its holder's, with the renewals whose answers were lost. */
const currentLease = async (leases: Leases, name: string, lease: Lease): Promise<Lease | undefined> => {
  const current = await leases.lease(name);
  return current?.holder === lease.holder && current.epoch === lease.epoch ? current : undefined;
};

/** As a favour to whoever stands by, and not for long. */
const giveBack = async (
  { name, leases, logger }: LeasedLoopOptions,
  lease: Lease,
  holder: Lease['holder'],
): Promise<void> => {
  const giving = async () => {
    const current = await currentLease(leases, name, lease);
    if (current) await leases.replaceLease(name, current, { ...current, holder });
  };
  try {
    await withinDeadline('giving it back', GIVE_BACK_WITHIN_MS, giving());
  } catch (error) {
    logger.warn({ err: error, lease: name }, `${name} was not given back: whoever stands by waits longer`);
  }
};
