import type { JsonObject } from '../../schemas/json.ts';
import type { SealedText } from '../../schemas/events/event.ts';
import type { ExportedItem } from '../../schemas/http/history.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import { canonicalJson, digestOf } from '../primitives/canonical-json.ts';
import { toIso } from '../primitives/clock.ts';
import { sha256 } from '../primitives/ids.ts';

/** What comes before the first line. */
export const NO_HASH = '0'.repeat(64);

/** A line of an export, before its personal data is opened or left out. */
export type HistoryLine = Omit<ExportedItem, 'data' | 'salt'> & { data: JsonObject; salt: SealedText | '' | null };

/**
 * Returns the line of an event as it is stored. `hash` is the SHA-256 of the RFC 8785 form of the line without salt, data
 * and hash, and covers the line before by `previous`. An event that was stored without a digest has the digest of its data
 * as it is stored, with an empty salt.
 */
export const toHistoryLine = (
  { type, data, time, position, metadata }: Pick<StoredEvent, 'type' | 'data' | 'time' | 'position' | 'metadata'>,
  previous: string,
): HistoryLine => {
  const { actor, app = null, session = null, correlationId: requestId } = metadata;
  const { digest = digestOf('', data) } = metadata;
  const salt = typeof metadata.salt === 'object' ? metadata.salt : ('' as const);
  const hashed = { type, time: toIso(time), actor, app, session, requestId, position, previous, digest };
  return { ...hashed, data, salt, hash: sha256(canonicalJson(hashed)) };
};
