import { CannotStart } from '../errors/cannot-start.ts';
import type { Settings } from '../config/settings.ts';
import type { Engines } from '../host/engines/engines.ts';
import { Transactor } from '../event-store/transactions/transact.ts';
import type { VaultKeys } from '../key-vault/vault-keys.ts';
import { systemClock } from '../primitives/clock.ts';
import { systemIds } from '../primitives/ids.ts';
import { pause } from '../primitives/waiting/pause.ts';
import { Checkpoints } from '../transparency-log/checkpoints.ts';
import { openLogKey } from '../transparency-log/log-key.ts';
import { StoredLog } from '../transparency-log/stored-log.ts';
import { cosignaturesOf } from '../transparency-log/witnesses/stored-cosignatures.ts';
import type { ExportedLog } from './log-proofs.ts';
import { SealedHistories } from './seals/sealed-histories.ts';

interface LogSources extends Pick<Engines, 'eventStore' | 'readStore'> {
  keys: VaultKeys;
  /** The URL of the account service, which names the log. */
  ownUrl: () => string;
  witnesses: Settings['LOG_WITNESSES'];
}

/** A projector that runs adds an event within a second. */
const WAITS_MS = 5_000;
const POLL_MS = 50;

/** Opens the log for an export by the operator. */
export const exportedLog = ({ eventStore, readStore, keys, ownUrl, witnesses }: LogSources): ExportedLog => {
  const stored = new StoredLog(readStore);
  const openKey = () => openLogKey(new Transactor(eventStore, systemClock, systemIds), keys);
  const cosignatures = cosignaturesOf(witnesses, readStore);
  const checkpoints = new Checkpoints({ log: stored, openKey, ownUrl, cosignatures });
  return {
    stored,
    histories: new SealedHistories(eventStore, readStore),
    caughtUp: async () => {
      const head = await eventStore.head();
      const until = performance.now() + WAITS_MS;
      while ((await stored.state()).position < head) {
        if (performance.now() > until)
          throw new CannotStart('the transparency log is behind the event store: start a projector, which builds it');
        await pause(POLL_MS);
      }
      return head;
    },
    checkpoint: () => checkpoints.note(),
  };
};
