import { LOG_STREAM, type LogEvent } from '../../schemas/events/account/log-events.ts';
import { unavailable } from '../errors/refusal.ts';
import { systemMetadata } from '../event-store/transactions/own-metadata.ts';
import type { Transactor } from '../event-store/transactions/transact.ts';
import { publicKeyOfSeed } from '../keys/signatures/ed25519-keys.ts';
import type { VaultKeys } from '../key-vault/vault-keys.ts';

const keyFold = {
  initial: undefined as string | undefined,
  evolve: (known: string | undefined, { type, data }: LogEvent): string | undefined =>
    type === 'LogKeyMade' ? data.publicKey : known,
};

/**
 * Returns the private key of the log, 32 bytes. It is created once: the event store says that it was.
 * @throws Refusal dependency_unavailable if the vault has not the key that signed before
 */
export const openLogKey = async (transactor: Transactor, keys: VaultKeys): Promise<Buffer> => {
  const known = (await transactor.load(LOG_STREAM, keyFold)).state;
  if (known === undefined) await keys.makeLogKey();
  const seed = await keys.logKey();
  const publicKey = publicKeyOfSeed(seed).toString('base64');
  const { state } = await transactor.transact({
    stream: LOG_STREAM,
    fold: keyFold,
    metadata: systemMetadata(transactor.ids, 'account'),
    decide: (made): LogEvent[] => (made === undefined ? [{ type: 'LogKeyMade', data: { publicKey } }] : []),
  });
  if (state === publicKey) return seed;
  throw unavailable(
    'the key vault has another key of the log than signed before: restore it from its backup',
    undefined,
  );
};
