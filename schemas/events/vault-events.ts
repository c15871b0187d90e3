import { z } from 'zod';
import { event, type EventOf } from './event.ts';

export const VAULT_STREAM = 'vault';

/** Stream `vault`: what must be known of the key vault even where the vault was lost. */
export const vaultEvents = {
  /** The vault that has the keys of this event store. No other is used beside it. */
  VaultIdentified: event(1, z.object({ vaultId: z.string() })),
  /** Stored before a key that signs tokens is destroyed: no backup brings it back. */
  VaultKeyDestroyed: event(1, z.object({ keyId: z.string() })),
};
export type VaultEvent = EventOf<typeof vaultEvents>;
