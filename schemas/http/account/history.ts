import { z } from 'zod';
import { actor } from '../../events/event.ts';
import { anyJson } from '../../json.ts';
import { isoTime, isoTimeInput } from '../../values.ts';

const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/);
const data = z.record(z.string(), anyJson);

/** What an item of a history says of an event, but for its data. */
const itemHead = {
  type: z.string(),
  time: isoTime,
  actor,
  app: z.string().nullable(),
  session: z.string().nullable(),
  requestId: z.string(),
};

const id = z.string().min(1).max(128).optional();
export const historyQuery = z.object({
  take: z.coerce.number().pipe(z.int().min(1).max(1_000)).default(10),
  cursor: z.string().optional().describe('next of the previous page; the other parameters but take must be the same'),
  type: z.string().max(64).optional().describe('only events of this type'),
  from: isoTimeInput
    .optional()
    .describe('only events at this time or later: an ISO 8601 date (its beginning, UTC) or time'),
  to: isoTimeInput.optional().describe('only events at this time or earlier, likewise'),
  app: id.describe('only events that came through this app, by its id'),
  session: id.describe('only events that came in this session, by its id'),
  order: z.enum(['asc', 'desc']).default('asc').describe('asc: the oldest first'),
});
export type HistoryQuery = z.output<typeof historyQuery>;

export const historyItem = z.object({
  ...itemHead,
  data,
  position: z.string().describe('an x-position: opaque, for asOf and x-min-position'),
  hash: sha256Hex,
});
export const historyPage = z.object({
  items: z.array(historyItem),
  take: z.int().positive(),
  next: z.string().nullable(),
});
export type HistoryPage = z.infer<typeof historyPage>;

/**
 * An item with the digest of its data, and the hash of the line before: what a history's hashes are made of, and a line of an
 * export of earlier formats. A member that is added or removed makes it another format.
 */
export const historyLine = z.strictObject({
  ...itemHead,
  actor: z.strictObject(actor.shape),
  data: data.nullable().describe('null after an erasure, as salt is'),
  position: z.int().nonnegative(),
  previous: sha256Hex.describe('the hash of the line before; of the first line 64 zeros'),
  digest: sha256Hex.describe('SHA-256 of salt followed by the RFC 8785 form of data'),
  salt: z
    .string()
    .regex(/^(?:[0-9a-f]{32})?$/)
    .nullable()
    .describe('empty for an event that was stored without a digest; its data is shown as it is stored'),
  hash: sha256Hex.describe('SHA-256 of the RFC 8785 form of the line without salt, data and hash'),
});
export type HistoryLine = z.infer<typeof historyLine>;

/** A line of an export of a history: an event as it is in the history, and in the transparency log. */
export const exportedItem = historyLine.extend({
  hash: sha256Hex.describe(
    'SHA-256 of the RFC 8785 form of the line without salt, data, hash and the members after it',
  ),
  leaf: z.int().nonnegative().describe('the number of its leaf in the transparency log, from 0'),
  stream: z.string(),
  revision: z.int().nonnegative(),
  id: z.string(),
  schemaVersion: z.int().positive(),
  metadata: z.record(z.string(), anyJson).describe('as it is stored'),
});
export type ExportedItem = z.infer<typeof exportedItem>;

const hash = z
  .string()
  .regex(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/)
  .describe('SHA-256 in base64');
const proof = z.array(hash).max(64).describe('RFC 9162, 2.1.3: that the leaf is in the tree, from the leaf upwards');

const completeness = z.strictObject({
  items: z.int().positive().describe('how many items the history had when all histories were sealed'),
  hash: sha256Hex.describe('that of the newest of them'),
  index: z.int().nonnegative().describe('the number of the leaf in the tree of the seal'),
  proof,
  seal: exportedItem.describe('the event HistoriesSealed; its data has the size and the root of the tree'),
  sealProof: proof.describe('that the seal is in the tree of the checkpoint'),
});

/** The last line of an export of the format before, which stays valid. */
export const formerExportEnd = z.strictObject({
  sub: z.string().describe('the user whose history it is'),
  items: z.int().nonnegative(),
  position: z.int().nonnegative().describe('no later event was looked at'),
  hash: sha256Hex.describe('that of the newest item; 64 zeros without any'),
  time: isoTime.describe('when the export was made'),
  signature: z.string().describe('compact JWS (ES256) by the audit key, over the RFC 8785 form of the line without it'),
});
export type FormerExportEnd = z.infer<typeof formerExportEnd>;

const { signature, ...summary } = formerExportEnd.shape;

/** The last line of an export. */
export const exportEnd = z.strictObject({
  ...summary,
  checkpoint: z.string().describe('of the transparency log: C2SP tlog-checkpoint, with all its signatures'),
  proofs: z.array(proof).describe('one for each item: that it is in the tree of the checkpoint'),
  completeness: completeness.nullable().describe('null before the first seal that has this history'),
  signature,
});
export type ExportEnd = z.infer<typeof exportEnd>;

/** The last line of an export of the first format, which stays valid. */
export const firstExportEnd = z.strictObject({
  previous: sha256Hex,
  signature: z.string().describe('compact JWS (ES256) by the audit key, over `previous`'),
});
export type FirstExportEnd = z.infer<typeof firstExportEnd>;

/** Either of them as one object, because clients are generated without members where an answer is one of two. */
export const exportLine = z
  .object({
    ...exportedItem.partial().shape,
    ...exportEnd.partial().shape,
    ...exportedItem.pick({ position: true, hash: true }).shape,
  })
  .describe('a line, and so each of them: an ExportedItem, or the last one, an ExportEnd');
