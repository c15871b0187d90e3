import type { SponsorshipPolicy } from '../../../schemas/events/account/app-events.ts';
import { sponsorshipStream } from '../../../schemas/events/onchain/sponsorship-events.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import type { AccountCall } from '../../../shared/chain/identifiers/account-call.ts';
import type { App } from '../../../shared/auth/app.ts';
import { reserve, sponsorshipFold, type SignatureToReserve } from './domain/sponsorship.ts';
import { refusedBy, ruleAgainstCalls, ruleAgainstCost } from '../sponsorship-policy/domain/sponsorship-policy.ts';
import { maxCostOf, type UserOperation } from '../operations/domain/user-operation.ts';
import type { Apps } from '../../../shared/auth/apps.ts';
import type { Deposits } from './deposits.ts';
import type { ServedChain } from '../served-chains/served-chains.ts';
import { utcDay, type Sponsorships } from './sponsorships.ts';

/** An app that pays for an operation, with its policy. */
export interface Sponsor {
  app: App;
  policy: SponsorshipPolicy;
  chain: ServedChain;
  paymaster: string;
}

const NOT_SIGNED = { transactionId: '', userOpHash: '', validUntilMs: 0, headBlock: 0 };

/** Finds the app that pays for an operation, and reserves the maximum cost. */
export class Sponsors {
  constructor(
    private readonly apps: Apps,
    private readonly sponsorships: Sponsorships,
    private readonly deposits: Deposits,
    private readonly transactor: Transactor,
  ) {}

  /**
   * Returns the app of a key, or else the app of the session. @throws Refusal api_key_unknown, app_revoked
   */
  payingApp(appApiKey: string | undefined, sessionAppId: string): Promise<App> {
    return appApiKey === undefined ? this.apps.liveById(sessionAppId) : this.apps.live(appApiKey);
  }

  /**
   * A session of an untrusted app sends only operations for which that app pays. @param payingAppId `undefined`: no app pays
   * @throws Refusal forbidden
   */
  async requireMaySend(sessionAppId: string, payingAppId: string | undefined): Promise<void> {
    if (payingAppId !== sessionAppId) await this.apps.requireTrusted(sessionAppId);
  }

  /**
   * Applies the rules that need no estimate. @param calls `undefined` for an operation whose calls are not known
   * @throws Refusal sponsorship_refused, and dependency_unavailable until the chain is prepared
   */
  async sponsorOf(
    app: App,
    {
      chain,
      sessionAppId,
      calls,
    }: { chain: ServedChain; sessionAppId: string; calls: readonly AccountCall[] | undefined },
  ): Promise<Sponsor> {
    const policy = app.policies[chain.settings.chainId];
    const rule = ruleAgainstCalls({ policy, payingAppId: app.id, sessionAppId, calls });
    if (rule !== undefined || !policy) throw refusedBy(rule ?? 'no_policy');
    const { paymaster } = await chain.preparation();
    return { app, policy, chain, paymaster };
  }

  /** Applies the remaining rules without reserving. @throws Refusal sponsorship_refused */
  async requireAllowed(
    sponsor: Sponsor,
    { chainId, userId, operation }: { chainId: number; userId: string; operation: UserOperation },
  ): Promise<void> {
    const { app, policy } = sponsor;
    const maxCostWei = maxCostOf(operation);
    this.requireCost(sponsor, maxCostWei);
    const stream = sponsorshipStream(app.id, utcDay(this.transactor.clock.now()));
    const { state } = await this.transactor.load(stream, sponsorshipFold);
    const deposit = await this.deposits.of(sponsor.chain, sponsor.paymaster);
    const { sender, nonce } = operation;
    const signature = { chainId, sender, nonce, userId, maxCostWei, ...NOT_SIGNED };
    reserve(
      state,
      { ...signature, appId: app.id },
      { policy, deposit, sent: new Set(), nowMs: this.transactor.clock.now() },
    );
  }

  /** Reserves the maximum cost of a signature, before anybody gets it. @throws Refusal sponsorship_refused */
  async reserve(sponsor: Sponsor, signature: SignatureToReserve): Promise<void> {
    const { app, policy, chain, paymaster } = sponsor;
    this.requireCost(sponsor, signature.maxCostWei);
    const deposit = await this.deposits.of(chain, paymaster);
    const { entryPoint } = chain.settings;
    await this.sponsorships.reserve({ appId: app.id, signature, policy, deposit, entryPoint });
  }

  private requireCost({ policy }: Sponsor, maxCostWei: bigint): void {
    const rule = ruleAgainstCost(policy, maxCostWei);
    if (rule !== undefined) throw refusedBy(rule);
  }
}
