import type { AppEnds } from '../../../shared/auth/app-ends.ts';
import type { StreamSigner } from '../../../shared/auth/connection-tokens.ts';
import { holderOfWallet } from '../../../shared/auth/wallet-holder.ts';
import type { Projections } from '../../../shared/edge/answers/projections.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { appsModel } from '../../../shared/read-models/account/apps.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

const { app } = appsModel.collections;

interface StreamSignersOptions {
  eventStore: Pick<EventStore, 'read'>;
  readStore: Pick<ReadStore, 'find'>;
  projections: Pick<Projections, 'find'>;
  apps: Pick<AppEnds, 'isRevoked' | 'isServerKeyRevoked'>;
}

type AppSigner = Exclude<StreamSigner, { kind: 'user' }>;

/** Finds the app or user whose signature a connection shows, by the address that signed. */
export class StreamSigners {
  constructor(private readonly options: StreamSignersOptions) {}

  /**
   * Returns `undefined` for a stranger. An app's key is never taken for a user's wallet. Every visitor has the app's
   * signing key, so whoever linked it as a wallet would be the user that all other visitors speak for.
   * @throws Refusal not_caught_up
   */
  async find(address: string): Promise<StreamSigner | undefined> {
    const { eventStore, projections } = this.options;
    let found = await this.appOf(address);
    if (!found) {
      const userId = await holderOfWallet(eventStore, address);
      if (userId !== undefined) return { kind: 'user', userId, wallet: address };
      found = await projections.find(appsModel.name, () => this.appOf(address));
    }
    return found === undefined || (await this.isRevoked(found)) ? undefined : found;
  }

  private async appOf(address: string): Promise<AppSigner | undefined> {
    for (const member of ['signer', 'formerSigner', 'serverSigner', 'formerServerSigner']) {
      const [found] = await this.options.readStore.find(app.name, {
        filter: { [member]: address },
        limit: 1,
      });
      const [appId, isServerKey] = [found?.id, member.endsWith('erverSigner')];
      if (appId === undefined) continue;
      return isServerKey ? { kind: 'app-itself', appId, serverKey: address } : { kind: 'app', appId };
    }
    return undefined;
  }

  private async isRevoked(signer: AppSigner): Promise<boolean> {
    const { apps } = this.options;
    if (await apps.isRevoked(signer.appId)) return true;
    return signer.kind === 'app-itself' && apps.isServerKeyRevoked({ appId: signer.appId, signer: signer.serverKey });
  }
}
