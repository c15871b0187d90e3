import { z } from 'zod';
import { actor } from '../events/event.ts';
import { anyJson } from '../json.ts';
import { isoTime } from '../values.ts';

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

/** A line of an export of a history. It is hashed: a member that is added or removed makes it another format. */
export const exportedItem = z.strictObject({
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
export type ExportedItem = z.infer<typeof exportedItem>;

/** The last line of an export. */
export const exportEnd = z.strictObject({
  sub: z.string().describe('the user whose history it is'),
  items: z.int().nonnegative(),
  position: z.int().nonnegative().describe('no later event was looked at'),
  hash: sha256Hex.describe('that of the newest item; 64 zeros without any'),
  time: isoTime.describe('when the export was made'),
  signature: z.string().describe('compact JWS (ES256) by the audit key, over the RFC 8785 form of the line without it'),
});
export type ExportEnd = z.infer<typeof exportEnd>;

/** The last line of exports that were made before it said more. They stay valid. */
export const formerExportEnd = z.strictObject({
  previous: sha256Hex,
  signature: z.string().describe('compact JWS (ES256) by the audit key, over `previous`'),
});
export type FormerExportEnd = z.infer<typeof formerExportEnd>;

/** Either of them as one object, because clients are generated without members where an answer is one of two. */
export const exportLine = z
  .object({
    ...exportedItem.partial().shape,
    ...exportEnd.partial().shape,
    ...exportEnd.pick({ position: true, hash: true }).shape,
  })
  .describe('a line, and so each of them: an ExportedItem, or the last one, an ExportEnd');
