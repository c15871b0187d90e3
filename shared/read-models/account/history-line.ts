import type { JsonObject } from '../../../schemas/json.ts';
import type { SealedText } from '../../../schemas/events/event.ts';
import { asStored } from '../../../schemas/events/upcast.ts';
import type { HistoryLine as OpenedLine } from '../../../schemas/http/account/history.ts';
import type { StoredEvent } from '../../event-store/event-store.ts';
import { canonicalJson, digestOf } from '../../primitives/text/canonical-json.ts';
import { toIso } from '../../primitives/clock.ts';
import { sha256 } from '../../primitives/ids.ts';

/** The `previous` hash of the first line. */
export const NO_HASH = '0'.repeat(64);

/** A line of a history, before its personal data is decrypted or left out. */
export type HistoryLine = Omit<OpenedLine, 'data' | 'salt'> & { data: JsonObject; salt: SealedText | '' | null };

/**
 * Returns the line of a stored event. `hash` is the SHA-256 of the RFC 8785 form of the line without salt, data and
 * hash; it covers the previous line by `previous`. An event stored without a digest gets the digest of its stored data,
 * with an empty salt.
 */
export const toHistoryLine = (
  event: Omit<StoredEvent, 'stream' | 'revision' | 'id'>,
  previous: string,
): HistoryLine => {
  const { type, time, position, metadata } = event;
  const data = asStored(event);
  const { actor, app = null, session = null, correlationId: requestId } = metadata;
  const { digest = digestOf('', data) } = metadata;
  const salt = typeof metadata.salt === 'object' ? metadata.salt : ('' as const);
  const hashed = { type, time: toIso(time), actor, app, session, requestId, position, previous, digest };
  return { ...hashed, data, salt, hash: sha256(canonicalJson(hashed)) };
};

/** Returns the members of a line that its hash is made of, and its salt, data and hash, without what an export adds. */
export const hashedMembers = ({ type, time, actor, app, session, requestId, ...rest }: OpenedLine): OpenedLine => {
  const { data, position, previous, digest, salt, hash } = rest;
  return { type, time, actor, app, session, requestId, data, position, previous, digest, salt, hash };
};
