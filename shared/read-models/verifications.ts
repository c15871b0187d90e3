import { z } from 'zod';
import { isoTime } from '../../schemas/values.ts';
import type { CollectionDefinition } from '../read-store/read-store.ts';

/** What the newest comparison of a version of a read model with a fresh fold found. */
export const verificationDocument = z.object({
  verifiedAt: isoTime,
  compared: z.int(),
  /** How many documents differ, also after a repair. */
  differences: z.int(),
});
export type Verification = z.infer<typeof verificationDocument>;

/** The stored name of a version of a read model, such as `users-v5.2` → a `Verification`. */
export const verifications = { name: 'verifications-v1', indexes: [] } satisfies CollectionDefinition;
