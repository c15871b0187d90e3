import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../observability/logger.ts';
import { isAborted } from '../primitives/is-aborted.ts';
import { pause } from '../primitives/pause.ts';
import { untilAborted } from '../primitives/until-aborted.ts';
import { withinDeadline } from '../primitives/within-deadline.ts';
import type { Lease, ReadStore } from '../read-store/read-store.ts';
import { hasEnded, THIS_PROCESS } from './lease-holder.ts';
import { SupervisedLoop } from './supervised-loop.ts';

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

export interface LeasedLoopOptions {
  /** Of the lease and of the loop. */
  name: string;
  leases: Leases;
  logger: Logger;
  /** Default: this process. */
  holder?: string;
  timing?: LeaseTiming;
  /** What one process at a time does, for ever, until the signal aborts. */
  run: (signal: AbortSignal, working: () => void) => Promise<void>;
}

/**
 * A supervised loop of which one runs at a time, however many processes have it: the others stand by, and one of them
 * takes over when the holder ends, gives back, or is silent. One that was only slow learns of it at its next renewal, or
 * by its own timer; what it had in hand then may still arrive, so what it does must bear being done again.
 */
export const leasedLoop = (options: LeasedLoopOptions): SupervisedLoop =>
  new SupervisedLoop(options.name, options.logger, async (signal, working) => {
    const standby = () => {
      working('standby');
    };
    const lease = await waitForTurn(options, signal, standby);
    if (lease) await workUntilLost(options, lease, signal, working);
  });

const waitForTurn = async (
  { name, leases, logger, holder = THIS_PROCESS, timing = TIMING }: LeasedLoopOptions,
  signal: AbortSignal,
  standby: () => void,
): Promise<Lease | undefined> => {
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
      const mine = { holder, epoch: (current?.epoch ?? 0) + 1, renewals: 0 };
      if (await leases.replaceLease(name, current, mine)) {
        // Where nobody else was, it is no news.
        logger[hasStoodBy ? 'info' : 'debug']({ lease: name, epoch: mine.epoch }, `${name} works here`);
        return mine;
      }
    }
    hasStoodBy = true;
    standby();
    await pause(timing.lookEveryMs, signal);
  }
  return undefined;
};

const workUntilLost = async (
  options: LeasedLoopOptions,
  lease: Lease,
  signal: AbortSignal,
  working: () => void,
): Promise<void> => {
  const { name, run } = options;
  const ending = new AbortController();
  const until = AbortSignal.any([signal, ending.signal]);
  const lost = (reason: string) => {
    ending.abort(new Error(`${name} stops here: ${reason}`));
  };
  const renewing = renew(options, lease, until, lost);
  try {
    await run(until, working);
    if (ending.signal.aborted) throw ending.signal.reason;
  } finally {
    lost('its work ended');
    await renewing;
    await giveBack(options, lease);
  }
};

/** Renews until the signal aborts. A renewal that hangs then is left alone. */
const renew = async (
  { name, leases, logger, timing = TIMING }: LeasedLoopOptions,
  lease: Lease,
  until: AbortSignal,
  lost: (reason: string) => void,
): Promise<void> => {
  const giveUpAt = (startedAt: number) =>
    setTimeout(lost, startedAt + timing.givesUpAfterMs - performance.now(), 'its lease could not be renewed in time');
  let newest = lease;
  let timer = giveUpAt(performance.now());
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
  lost('another process has its lease');
};

/** @returns the lease as it stands now, `undefined` when it is another's */
const renewOnce = async (leases: Leases, name: string, lease: Lease): Promise<Lease | undefined> => {
  const next = { ...lease, renewals: lease.renewals + 1 };
  return (await leases.replaceLease(name, lease, next)) ? next : standing(leases, name, lease);
};

/** A lease that is still its holder's, with the renewals whose answers were lost. */
const standing = async (leases: Leases, name: string, lease: Lease): Promise<Lease | undefined> => {
  const current = await leases.lease(name);
  return current?.holder === lease.holder && current.epoch === lease.epoch ? current : undefined;
};

/** As a favour to whoever stands by, and not for long. */
const giveBack = async ({ name, leases, logger }: LeasedLoopOptions, lease: Lease): Promise<void> => {
  const giving = async () => {
    const current = await standing(leases, name, lease);
    if (current) await leases.replaceLease(name, current, { ...current, holder: null });
  };
  try {
    await withinDeadline('giving it back', GIVE_BACK_WITHIN_MS, giving());
  } catch (error) {
    logger.warn({ err: error, lease: name }, `${name} was not given back: whoever stands by waits longer`);
  }
};
