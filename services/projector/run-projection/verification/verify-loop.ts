import type { WithKeyVault, WorkerFoundation } from '../../../../shared/host/foundation.ts';
import { Counted, type Measured } from '../../../../shared/host/health/measure.ts';
import { leasedLoop } from '../../../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../../../shared/loops/supervised-loop.ts';
import { isAborted } from '../../../../shared/primitives/waiting/is-aborted.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { readModels } from '../../../../shared/read-models/catalogue.ts';
import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import type { Verification } from '../../../../shared/read-models/verifications.ts';
import { FIRST_ONLY, nameInVersion } from '../../../../shared/read-store/versions/stored-versions.ts';
import { storedUnder } from '../../../../shared/read-store/versions/versioned-read-store.ts';
import { storedVerifications, storeVerification } from './stored-verifications.ts';
import { verifyModel, type VerificationOptions, type VerifiedModel } from './verify-model.ts';
import { modelInVersion, versionName } from '../versions/version-names.ts';
import { throttled } from './throttled.ts';

/** A process that has just begun has other work, and a demonstration or a test ends before. */
const FIRST_AFTER_MS = 600_000;
/** Interval at which a switch to a version that was never compared is noticed. */
const POLL_MS = 60_000;
const STANDS_STILL_MAX_MS = 60_000;
/** Bounds the memory where all documents differ. */
const DIFFERENCES_MAX = 1_000;
const LOGGED_MAX = 20;

type VerifyLoopOptions = Pick<WorkerFoundation, 'eventStore' | 'readStore' | 'logger' | 'clock'> &
  WithKeyVault &
  Pick<VerificationOptions, 'makeScratch'>;

/** The version of a read model that queries read. */
interface Current {
  model: ReadModel;
  number: number;
  /** As it is stored, such as `users-v5.2`. */
  stored: string;
  verified: Verification | undefined;
}

/**
 * Compares each read model with a fresh fold, one after the other, in one process at a time, at 5 % of a core at most.
 * Says what differs and repairs nothing. The read model that was not compared for the longest time is next, so another
 * process goes on where this one ended, and begins that read model anew.
 * @param everyMs how long after the end of a comparison the same read model is compared again
 */
export const verifyLoop = (
  options: VerifyLoopOptions,
  everyMs: number,
): { loop: SupervisedLoop; measured: Measured[] } => {
  const readStore = storedUnder(options.readStore);
  const compared = new Counted({
    name: 'annals_projection_documents_compared_total',
    help: 'Documents that this process compared with a fresh fold, by read model.',
    labelNames: ['read_model'],
  });
  /** How often in a row the comparison of a read model failed. Those that fail must not keep the others waiting. */
  const failures = new Map<string, number>();
  const loop = leasedLoop({
    name: 'verification',
    leases: readStore,
    logger: options.logger,
    run: async (signal, reportRunning) => {
      reportRunning();
      await pause(Math.min(FIRST_AFTER_MS, everyMs), signal);
      while (!isAborted(signal)) {
        const { current, dueInMs } = await nextOf(readStore, { failures, everyMs, nowMs: options.clock.now() });
        if (dueInMs > 0) {
          await pause(Math.min(dueInMs, POLL_MS), signal);
          continue;
        }
        failures.set(current.stored, (failures.get(current.stored) ?? 0) + 1);
        await verifyCurrent(current, { ...options, readStore, signal, compared });
        failures.delete(current.stored);
        reportRunning();
      }
    },
  });
  return { loop, measured: [compared.measured, ...outcomeMetrics(readStore)] };
};

const currentOnes = async (readStore: Pick<WorkerFoundation['readStore'], 'versions' | 'find'>): Promise<Current[]> => {
  const [versions, verified] = [await readStore.versions(), await storedVerifications(readStore)];
  return readModels.map((model) => {
    const number = (versions.get(model.name) ?? FIRST_ONLY).current;
    const stored = nameInVersion(model.name, number);
    return { model, number, stored, verified: verified.get(stored) };
  });
};

/** Returns the read model to compare next, and when. */
const nextOf = async (
  readStore: Pick<WorkerFoundation['readStore'], 'versions' | 'find'>,
  { failures, everyMs, nowMs }: { failures: ReadonlyMap<string, number>; everyMs: number; nowMs: number },
): Promise<{ current: Current; dueInMs: number }> => {
  const waiting = (await currentOnes(readStore)).map((current) => {
    const elapsedMs = current.verified ? nowMs - Date.parse(current.verified.verifiedAt) : everyMs;
    // A clock that was set back must not put it off for longer.
    const dueInMs = Math.min(everyMs, everyMs - elapsedMs);
    return { current, dueInMs, failed: failures.get(current.stored) ?? 0 };
  });
  const due = waiting.filter(({ dueInMs }) => dueInMs <= 0);
  const [next] = (due.length > 0 ? due : waiting).toSorted(
    (one, other) => one.failed - other.failed || one.dueInMs - other.dueInMs,
  );
  if (!next) throw new Error('there are no read models');
  return next;
};

interface ComparisonOptions extends VerifyLoopOptions {
  signal: AbortSignal;
  compared: Counted;
}

const verifyCurrent = async (
  { model, number, stored }: Current,
  { compared, ...options }: ComparisonOptions,
): Promise<void> => {
  const { readStore, signal, logger } = options;
  const isCurrent = async () => ((await readStore.versions()).get(model.name) ?? FIRST_ONLY).current === number;
  let before = 0;
  try {
    const version = await modelInVersion(model, number, readStore);
    const verified = await verifyModel(version, {
      ...options,
      personalData: personalDataOf(options),
      repair: false,
      throttle: throttled(signal),
      standsStillMaxMs: STANDS_STILL_MAX_MS,
      differencesMax: DIFFERENCES_MAX,
      report: (progress) => {
        if (!('compared' in progress)) return;
        compared.add({ read_model: stored }, progress.compared - before);
        before = progress.compared;
      },
    });
    if (!(await isCurrent())) return;
    await storeVerification(verified, options);
    tell(verified, logger);
  } catch (error) {
    // Nothing keeps a version up to date that the operator has given up meanwhile.
    if (isAborted(signal) || (await isCurrent())) throw error;
  }
};

const tell = ({ name, compared, differences }: VerifiedModel, logger: VerifyLoopOptions['logger']): void => {
  if (differences.length === 0) {
    logger.debug({ readModel: name, compared }, `${name} is equal to a fresh fold`);
    return;
  }
  const command = `annals projections verify ${versionName(name).name} --repair`;
  logger.warn(
    { readModel: name, compared, differences: differences.length, documents: differences.slice(0, LOGGED_MAX) },
    `documents of ${name} are not what their events make of them: "${command}" rewrites them`,
  );
};

/** What is stored of the comparisons: the same in every process. */
const outcomeMetrics = (readStore: Parameters<typeof currentOnes>[0]): Measured[] => {
  const gauge = (name: string, help: string, valueOf: (verified: Verification) => number): Measured => ({
    ...{ name, help, labelNames: ['read_model'] },
    read: async () =>
      (await currentOnes(readStore)).flatMap(({ stored, verified }) =>
        verified ? [{ labels: { read_model: stored }, value: valueOf(verified) }] : [],
      ),
  });
  return [
    gauge(
      'annals_projection_differences',
      'Documents that differed from a fresh fold when their read model was last compared.',
      ({ differences }) => differences,
    ),
    gauge(
      'annals_projection_verified_timestamp_seconds',
      'When the read model was last compared with a fresh fold.',
      ({ verifiedAt }) => Date.parse(verifiedAt) / 1_000,
    ),
  ];
};
