import { isDeepStrictEqual } from 'node:util';
import type { Lease } from '../../../../shared/coordination/coordination.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import type { WorkerFoundation } from '../../../../shared/host/foundation.ts';
import { hasEnded, THIS_PROCESS } from '../../../../shared/loops/lease-holder.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { readModels } from '../../../../shared/read-models/catalogue.ts';
import { FIRST_ONLY, nameInVersion } from '../../../../shared/read-store/versions/stored-versions.ts';
import { leaseOf } from '../projection-loop.ts';
import { storedVerifications } from '../verification/stored-verifications.ts';
import { versionName, type VersionName } from './version-names.ts';

/** Longer than two renewals of a lease. */
const OBSERVED_MS = 2_500;
const POLL_MS = 100;

/** Whether the version of a read model that queries read is kept up to date. */
export interface VersionStatus extends VersionName {
  position: Position;
  lag: number;
  /** Whether a process works on it. */
  followed: boolean;
  /** Whether it has reached the head that the event store had when it was first looked at. */
  caughtUp: boolean;
  /** Until it has caught up, at the speed of the last seconds; `null`: it does not move. */
  secondsLeft: number | null;
  /** When it was last compared with a fresh fold; `null`: never. */
  verifiedAt: string | null;
  /** How many of its documents differed then. */
  differences: number | null;
}

interface Look {
  position: Position;
  lease: Lease | undefined;
}

/** Observes for some seconds whether processes keep read models up to date, or until it is certain that they do. */
export const statusOfVersions = async (
  names: readonly string[],
  { eventStore, readStore }: Pick<WorkerFoundation, 'eventStore' | 'readStore'>,
  signal: AbortSignal,
): Promise<VersionStatus[]> => {
  const look = async (name: string): Promise<Look> => ({
    position: await readStore.position(name),
    lease: await readStore.lease(leaseOf(name)),
  });
  const models = readModels.map(({ name }) => name).filter((name) => names.includes(name));
  const versions = await readStore.versions();
  const verifications = await storedVerifications(readStore);
  const versionOf = (name: string): VersionName & Pick<VersionStatus, 'verifiedAt' | 'differences'> => {
    const stored = nameInVersion(name, (versions.get(name) ?? FIRST_ONLY).current);
    const { verifiedAt = null, differences = null } = verifications.get(stored) ?? {};
    return { ...versionName(stored), verifiedAt, differences };
  };
  const [goal, beganAt] = [await eventStore.head(), performance.now()];
  const first = new Map<string, Look>();
  for (const name of models) first.set(name, await look(name));
  for (;;) {
    await pause(POLL_MS, signal);
    signal.throwIfAborted();
    const [head, passedMs] = [await eventStore.head(), performance.now() - beganAt];
    const statuses: VersionStatus[] = [];
    for (const name of models) {
      const [before, now] = [first.get(name), await look(name)];
      const moved = now.position - (before?.position ?? 0);
      const caughtUp = now.position >= goal;
      const left = caughtUp ? 0 : moved > 0 ? Math.ceil(((head - now.position) * passedMs) / moved / 1_000) : null;
      statuses.push({
        ...{ ...versionOf(name), position: now.position, lag: Math.max(0, head - now.position) },
        ...{ followed: isRenewed(before?.lease, now.lease), caughtUp, secondsLeft: left },
      });
    }
    if (passedMs >= OBSERVED_MS || statuses.every(({ followed, caughtUp }) => followed && caughtUp)) return statuses;
  }
};

/** A lease that another process has changes while that process lives. */
const isRenewed = (before: Lease | undefined, now: Lease | undefined): boolean =>
  now?.holder === THIS_PROCESS ||
  (typeof now?.holder === 'string' && !hasEnded(now.holder) && !isDeepStrictEqual(before, now));
