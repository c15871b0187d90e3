import { SealedHistories } from '../../../shared/audit/seals/sealed-histories.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import type { Foundation } from '../../../shared/host/foundation.ts';
import type { VaultKeys } from '../../../shared/key-vault/vault-keys.ts';
import { Loops } from '../../../shared/loops/loops.ts';
import { StoredLog } from '../../../shared/transparency-log/stored-log.ts';
import { Checkpoints } from '../../../shared/transparency-log/checkpoints.ts';
import { openLogKey } from '../../../shared/transparency-log/log-key.ts';
import { cosignaturesOf } from '../../../shared/transparency-log/witnesses/stored-cosignatures.ts';
import { ServeLogHttp } from './serve-log.http.ts';
import { WitnessFailures } from './witness-failures.ts';
import { witnessLoop } from './witness-loop.ts';

interface LogDependencies extends Pick<Foundation, 'eventStore' | 'readStore' | 'logger' | 'settings'> {
  transactor: Transactor;
  keys: VaultKeys;
  /** The URL of the account service, known once it listens. */
  ownUrl: () => string;
}

/**
 * Serves the transparency log, signs its checkpoints, and shows them to witnesses. The projector builds it. Without the
 * log's key everything else is served, and the log is not.
 */
export const openLog = async (dependencies: LogDependencies) => {
  const { eventStore, readStore, logger, transactor, keys, ownUrl, settings } = dependencies;
  const log = new StoredLog(readStore);
  const cosignatures = cosignaturesOf(settings.LOG_WITNESSES, readStore);
  const checkpoints = new Checkpoints({ log, openKey: () => openLogKey(transactor, keys), ownUrl, cosignatures });
  const failures = new WitnessFailures(logger);
  const asking = { witnesses: settings.LOG_WITNESSES, checkpoints, log, leases: readStore, logger, failures };
  try {
    await checkpoints.open();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    logger.error({ err: error }, 'the transparency log is not served, because its key cannot be had');
  }
  return {
    controllers: [ServeLogHttp],
    providers: [
      { provide: StoredLog, useValue: log },
      { provide: Checkpoints, useValue: checkpoints },
      { provide: SealedHistories, useValue: new SealedHistories(eventStore, readStore) },
    ],
    /** To be started once the service listens. */
    witnesses: new Loops(cosignatures ? [witnessLoop({ ...asking, cosignatures })] : []),
    measured: [failures.measured],
  };
};
