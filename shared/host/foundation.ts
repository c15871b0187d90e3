import type { Logger } from 'pino';
import type { PersonalData } from '../key-vault/personal-data.ts';
import type { Settings } from '../config/settings.ts';
import { systemClock, type Clock } from '../primitives/clock.ts';
import { systemIds, type Ids } from '../primitives/ids.ts';
import { untilAborted } from '../primitives/waiting/until-aborted.ts';
import { requireOwnVault } from '../key-vault/own-vault.ts';
import { loadMasterKey } from '../keys/master-key.ts';
import {
  closeEngines,
  describeEngines,
  isEmbedded,
  openEngines,
  type EngineName,
  type Engines,
} from './engines/engines.ts';
import { requireKnownEvents, watchKnownEvents } from './engines/known-events.ts';
import { ProcessHealth } from './health/process-health.ts';
import type { StartingProcess } from './run-process.ts';
import { patiently } from './engines/patience.ts';
import { thisVault } from './engines/this-vault.ts';
import { WatchedEventStore } from './engines/watched-event-store.ts';

/** The dependencies of each part of a process. Its creator closes it, after the parts. */
export interface WorkerFoundation extends Pick<Engines, 'eventStore' | 'readStore'> {
  /** Of the whole process. */
  processHealth: ProcessHealth;
  settings: Settings;
  logger: Logger;
  clock: Clock;
  ids: Ids;
}

/** The dependencies of a part that accepts requests. */
export interface Foundation extends WorkerFoundation {
  /**
   * 32 bytes with which every service signs cursors and positions and hashes callers, so that each accepts the others'.
   */
  edgeKey: Uint8Array;
  /** In milliseconds, after which a request is answered with 503. Default: that of the interface. */
  answerWithinMs?: number;
}

export type WithMessageBus = Pick<Engines, 'messageBus'>;
export type WithKeyVault = Pick<Engines, 'keyVault'> & {
  /** 32 bytes that open the vault. */
  masterKey: Uint8Array;
};
export interface WithPersonalData {
  personalData: PersonalData;
}

/** How long a start waits for servers that do not answer. */
const PATIENCE_MS = 60_000;

/**
 * Opens these engines, to be closed at shutdown, and logs them before any part starts. A process whose event store loses
 * what its read models were made of is stopped.
 * @throws CannotStart, also if the event store lacks events of the read models' checkpoints, or was used with another
 * key vault
 */
export const openFoundation = async <Name extends EngineName>(
  { settings, logger, shutdown }: StartingProcess,
  names: readonly Name[],
) => {
  // The master key is created before the vault.
  if (names.some((name) => name === 'keyVault')) loadMasterKey(settings);
  // Waiting mends no file.
  const patienceMs = names.every((name) => isEmbedded(name, settings)) ? 0 : PATIENCE_MS;
  const opened = await untilAborted(openEngines(settings, logger, names, patienceMs), shutdown.signal);
  const shared = { settings, logger, clock: systemClock, ids: systemIds, processHealth: new ProcessHealth() };
  const engines: Pick<Engines, Name> = { ...opened, ...watched(opened, shared) };
  shutdown.add('engines', () => closeEngines(engines));
  logger.info(describeEngines(settings, names), 'engines');
  const { eventStore, readStore, keyVault }: Partial<Engines> = engines;
  const check = (work: () => Promise<void>): Promise<void> => {
    return untilAborted(patiently(work, { patienceMs, logger, signal: shutdown.signal }), shutdown.signal);
  };
  if (eventStore && readStore) {
    const stores = { eventStore, readStore };
    await check(() => requireKnownEvents(stores, settings));
    if (!isEmbedded('eventStore', settings)) {
      const onLost = (reason: string) => {
        shutdown.fail(reason);
      };
      shutdown.add('check of the event store', watchKnownEvents(stores, settings, { logger, onLost }));
    }
  }
  if (eventStore && keyVault) {
    await check(() => requireOwnVault(thisVault({ eventStore, keyVault }, settings), { makes: true }));
  }
  return { ...shared, ...engines };
};

const watched = (
  { eventStore }: Partial<Engines>,
  options: ConstructorParameters<typeof WatchedEventStore>[1],
): Partial<Engines> => (eventStore ? { eventStore: new WatchedEventStore(eventStore, options) } : {});
