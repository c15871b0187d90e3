import type { Logger } from 'pino';
import type { Settings } from '../../../shared/config/settings.ts';
import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { Backoff } from '../../../shared/primitives/waiting/backoff.ts';
import { inTime } from '../../../shared/primitives/waiting/in-time.ts';
import { isAborted } from '../../../shared/primitives/waiting/is-aborted.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Checkpoints, SignedCheckpoint } from '../../../shared/transparency-log/checkpoints.ts';
import type { StoredLog } from '../../../shared/transparency-log/stored-log.ts';
import { AskedWitness, NotCosigned } from '../../../shared/transparency-log/witnesses/asked-witness.ts';
import type { StoredCosignatures } from '../../../shared/transparency-log/witnesses/stored-cosignatures.ts';
import type { WitnessFailures } from './witness-failures.ts';

const POLL_MS = 100;
/** How long a new checkpoint waits for witnesses that were in time with the last one. */
const SHOWN_WITHIN_MS = 300;
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;

interface WitnessLoopOptions {
  witnesses: Settings['LOG_WITNESSES'];
  checkpoints: Pick<Checkpoints, 'signed'>;
  cosignatures: StoredCosignatures;
  log: Pick<StoredLog, 'tiles'>;
  leases: Pick<ReadStore, 'lease' | 'replaceLease' | 'renewLease'>;
  logger: Logger;
  failures: WitnessFailures;
}

/**
 * Shows each new checkpoint of the log to the witnesses, in one process at a time. A checkpoint is served once they were
 * asked, with the cosignatures of those that have answered by then; one that comes later is added.
 */
export const witnessLoop = (options: WitnessLoopOptions): SupervisedLoop => {
  const { checkpoints, leases, logger } = options;
  return leasedLoop({
    name: 'log-witnesses',
    leases,
    logger,
    run: async (signal, reportRunning) => {
      const rounds = new WitnessRounds(options, signal);
      try {
        while (!isAborted(signal)) {
          await rounds.show(await checkpoints.signed());
          reportRunning();
          await pause(POLL_MS, signal);
        }
      } finally {
        await rounds.ended();
      }
    },
  });
};

/** A witness during one term of the lease. */
class Asked {
  readonly witness: AskedWitness;
  readonly backoff = new Backoff(RETRY_FIRST_MS, RETRY_MAX_MS);
  cosignedSize = 0;
  retryAt = 0;
  /** Whether its last answer was in time: others are not waited for. */
  isPrompt = true;
  isAsked = false;
  answered: Promise<void> = Promise.resolve();

  constructor(witness: Settings['LOG_WITNESSES'][number]) {
    this.witness = new AskedWitness(witness);
  }

  isToBeAsked(size: number): boolean {
    return !this.isAsked && this.cosignedSize < size && performance.now() >= this.retryAt;
  }
}

class WitnessRounds {
  private readonly witnesses: readonly Asked[];
  private shownSize = 0;
  private broken: Error | undefined;

  constructor(
    private readonly options: WitnessLoopOptions,
    private readonly signal: AbortSignal,
  ) {
    this.witnesses = options.witnesses.map((witness) => new Asked(witness));
  }

  /** Shows a checkpoint to every witness that has not cosigned it and is not to be left alone for now. */
  async show(signed: SignedCheckpoint): Promise<void> {
    if (this.broken) throw this.broken;
    const { size } = signed.checkpoint;
    if (size === 0) return;
    const asked = this.witnesses.filter((one) => one.isToBeAsked(size));
    const prompt = asked.filter(({ isPrompt }) => isPrompt);
    for (const one of asked) one.answered = this.ask(one, signed);
    if (prompt.length > 0 && size > this.shownSize)
      await inTime(() => Promise.all(prompt.map(({ answered }) => answered)), SHOWN_WITHIN_MS);
    if (size <= this.shownSize) return;
    await this.options.cosignatures.markShown({ ...signed.checkpoint, position: signed.position });
    this.shownSize = size;
  }

  /** Returns once nothing is asked any more. */
  async ended(): Promise<void> {
    await Promise.all(this.witnesses.map(({ answered }) => answered));
  }

  /** Never rejects: what is not the fault of the witness ends the next round. */
  private async ask(one: Asked, signed: SignedCheckpoint): Promise<void> {
    const startedAt = performance.now();
    one.isAsked = true;
    try {
      await this.cosign(one, signed);
    } catch (error) {
      // A tile that is too short: the log is being made anew.
      if (!(error instanceof RangeError || isAborted(this.signal)))
        this.broken ??= new Error('a cosignature could not be kept', { cause: error });
    } finally {
      one.isPrompt = performance.now() - startedAt < SHOWN_WITHIN_MS;
      one.isAsked = false;
    }
  }

  private async cosign(one: Asked, signed: SignedCheckpoint): Promise<void> {
    const { cosignatures, log, failures } = this.options;
    const { witness } = one;
    const { key } = witness;
    try {
      const line = await witness.cosign(signed, (tiles) => log.tiles(tiles), this.signal);
      await cosignatures.add(key, line, { ...signed.checkpoint, position: signed.position });
      one.cosignedSize = signed.checkpoint.size;
      one.backoff.reset();
      failures.cosigned(witness.name);
    } catch (error) {
      if (!(error instanceof NotCosigned) || isAborted(this.signal)) throw error;
      one.retryAt = performance.now() + one.backoff.take();
      failures.failed(witness.name, error);
    }
  }
}
