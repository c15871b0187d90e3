import { identityStream } from '../../../schemas/events/account/identity-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { userEvents, userStream } from '../../../schemas/events/account/user-events.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import type { VaultKeys } from '../../../shared/key-vault/vault-keys.ts';
import { identityFold, releaseIdentity } from '../users/domain/identity.ts';
import { SessionEnder } from '../sessions/session-ender.ts';

/** Carries out the erasure of a user. Each step may be repeated. */
export class Erasures {
  private readonly sessions: SessionEnder;

  constructor(
    private readonly transactor: Transactor,
    private readonly keys: VaultKeys,
  ) {
    this.sessions = new SessionEnder(transactor);
  }

  /** Ends the user's sessions, releases the identities, and destroys the key of the personal data. */
  async complete(userId: string, metadata: EventMetadata): Promise<void> {
    await this.sessions.endAll({ userId, reason: 'user_erased' }, metadata, () => true);
    for (const identityId of await this.identitiesOf(userId)) {
      await this.transactor.transact({
        stream: identityStream(identityId),
        fold: identityFold,
        metadata,
        decide: (holder) =>
          holder.userId === userId ? releaseIdentity(holder, { identityId, claim: holder.claims }) : [],
      });
    }
    await this.keys.destroyKeysOf(userId);
  }

  private async identitiesOf(userId: string): Promise<Set<string>> {
    const events = await this.transactor.store.read(userStream(userId));
    const linked = events.filter(({ type }) => type === 'IdentityLinked');
    return new Set(
      linked.map(({ data }) => userEvents.IdentityLinked.data.pick({ identityId: true }).parse(data).identityId),
    );
  }
}
