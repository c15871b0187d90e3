import type { Tenant } from './tenants-model.ts';

interface ModelledSend {
  id: string;
  user: string;
  app: string;
  payingApp: string;
}

/**
 * The interface's rules about who links, who sends and who pays, written down a second time: what a session of a third
 * party's app may not do, and what belongs to another user.
 */
export class AccountsModel {
  /** The user whom a wallet logs in, by the wallet's address. */
  readonly holders = new Map<string, string>();
  readonly sends: ModelledSend[] = [];
  /** Users and wallets that they unlinked: unlinking again is a repeat, which does nothing. */
  private readonly unlinked = new Set<string>();

  constructor(private readonly apps: { thirdParty: string; generous: string }) {}

  /** Returns the status of linking a wallet. Linking one's own wallet is a plain login. */
  link({ app, user }: Tenant, wallet: string): number {
    const holder = this.holders.get(wallet);
    if (user === null) return 403;
    if (holder === user) return 201;
    if (app === this.apps.thirdParty) return 403;
    if (holder !== undefined) return 409;
    this.holders.set(wallet, user);
    return 201;
  }

  /** Returns the status of unlinking a wallet of a user who has others. */
  unlink({ app, user }: Tenant, of: string, wallet: string): number {
    if (user !== of || app === this.apps.thirdParty) return 403;
    const isHeld = this.holders.get(wallet) === user;
    if (isHeld) this.holders.delete(wallet);
    else if (!this.unlinked.has(user + wallet)) return 404;
    this.unlinked.add(user + wallet);
    return 204;
  }

  walletsOf(user: string): string[] {
    return [...this.holders].flatMap(([wallet, holder]) => (holder === user ? [wallet] : [])).sort();
  }

  /**
   * Returns the refusal of a send by a user whose account has no funds.
   * @param payingApp `undefined`: the account pays
   */
  refusalOfSend({ app, user }: Tenant, payingApp: string | undefined): string | undefined {
    if (user === null || (app === this.apps.thirdParty && payingApp !== app)) return 'forbidden';
    if (payingApp === undefined) return 'insufficient_funds';
    return payingApp === app || payingApp === this.apps.generous ? undefined : 'sponsorship_refused';
  }

  /** Returns the sends that a tenant sees, the newest first. */
  sentBy({ app, user }: Tenant): string[] {
    const isShown = (send: ModelledSend) => app !== this.apps.thirdParty || send.app === app;
    const own = this.sends.filter((send) => send.user === user && isShown(send));
    return own.map(({ id }) => id).toReversed();
  }

  /** Returns the status of cancelling a send that an app pays for, which nobody can cancel. */
  statusOfCancel({ app, user }: Tenant, { user: sender, app: through }: ModelledSend): number {
    if (user === null) return 403;
    if (sender !== user) return 404;
    return app === this.apps.thirdParty && through !== app ? 403 : 409;
  }
}
