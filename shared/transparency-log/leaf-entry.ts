import { asStored } from '../../schemas/events/upcast.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import { toIso } from '../primitives/clock.ts';
import { sha256 } from '../primitives/ids.ts';
import { canonicalJson } from '../primitives/text/canonical-json.ts';
import { leafHash, type Hash } from './merkle-tree.ts';

/** What a leaf of the log says of an event. */
export interface LeafEntry {
  stream: string;
  revision: number;
  id: string;
  type: string;
  schemaVersion: number;
  /** ISO 8601. */
  time: string;
  metadata: object;
  /**
   * That stored with an event about a user, which is salted; otherwise SHA-256 of the RFC 8785 form of the data, or, where
   * the data has no such form because half a surrogate pair is in it, of the stored text.
   */
  digest: string;
}

const leafEntry = (event: StoredEvent): LeafEntry => {
  const { stream, revision, id, type, schemaVersion, time, metadata } = event;
  const digest = metadata.digest ?? sha256(dataForm(event));
  return { stream, revision, id, type, schemaVersion, time: toIso(time), metadata, digest };
};

const dataForm = (event: StoredEvent): string => {
  try {
    return canonicalJson(asStored(event));
  } catch {
    // An event that is stored must become a leaf: otherwise it would keep all later ones from it.
    return event.dataText;
  }
};

/** Returns the leaf of an event: the hash of the RFC 8785 form of its entry. */
export const leafOf = (event: StoredEvent): Hash => leafHash(entryTextOf(event));

/** Returns what the leaf of an event is the hash of. */
export const entryTextOf = (event: StoredEvent): string => entryText(leafEntry(event));

/** @throws for an entry that has no RFC 8785 form */
export const leafOfEntry = (entry: LeafEntry): Hash => leafHash(entryText(entry));

const entryText = ({ stream, revision, id, type, schemaVersion, time, metadata, digest }: LeafEntry): string =>
  canonicalJson({ stream, revision, id, type, schemaVersion, time, metadata, digest });
