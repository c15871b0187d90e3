import type { Logger } from 'pino';
import { Counted } from '../../../shared/host/health/measure.ts';
import type { NotCosigned } from '../../../shared/transparency-log/witnesses/asked-witness.ts';

/** Tells the operator which witnesses do not cosign, and why: in the log once, until the witness cosigns again. */
export class WitnessFailures {
  private readonly failing = new Set<string>();

  private readonly failures = new Counted({
    name: 'annals_log_witness_failures_total',
    help: 'Requests to witnesses of the transparency log that brought no cosignature, by witness and reason.',
    labelNames: ['witness', 'reason'],
  });
  readonly measured = this.failures.measured;

  constructor(private readonly logger: Logger) {}

  failed(witness: string, { fault: reason, message }: NotCosigned): void {
    this.failures.add({ witness, reason });
    this.logger[this.failing.has(witness) ? 'debug' : 'warn'](
      { witness, reason, detail: message },
      'a witness has not cosigned a checkpoint of the log: checkpoints are served without it, and it is asked again',
    );
    this.failing.add(witness);
  }

  cosigned(witness: string): void {
    if (this.failing.delete(witness))
      this.logger.info({ witness }, 'a witness cosigns the checkpoints of the log again');
  }
}
