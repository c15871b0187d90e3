import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { GasEstimate, TransactionRequest } from '../../../../schemas/http/onchain/onchain-routes.ts';
import type { UserCaller } from '../../../../shared/auth/caller.ts';
import { userKey } from '../../../../shared/auth/holder-key.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { maxCostOf, type UserOperation } from '../../operations/domain/user-operation.ts';
import { ruleAgainstTip } from '../../sponsorship-policy/domain/sponsorship-policy.ts';
import { CountedSimulations } from '../../served-chains/counted-simulations.ts';
import type { GasEstimator } from '../../gas/gas-estimator.ts';
import { needsDeploying, OperationDrafts } from '../../transactions/operation-drafts.ts';
import { ServedChains, type ServedChain } from '../../served-chains/served-chains.ts';
import { Sponsors, type Sponsor } from '../../sponsorship/sponsors.ts';
import { readCall } from '../transaction-request.ts';

/** Estimates the cost of a transaction. Reserves nothing, and refuses neither for funds nor by a policy. */
export class EstimateGas extends Query<GasEstimate> {
  constructor(
    readonly request: TransactionRequest,
    readonly caller: UserCaller,
    /** Aborts when the caller does not wait for the answer any more. */
    readonly ended: AbortSignal,
  ) {
    super();
  }
}

type Call = ReturnType<typeof readCall>;

interface Asked {
  chain: ServedChain;
  call: Call;
  caller: UserCaller;
  estimator: GasEstimator;
}

@QueryHandler(EstimateGas)
export class EstimateGasHandler implements IQueryHandler<EstimateGas> {
  constructor(
    private readonly chains: ServedChains,
    private readonly drafts: OperationDrafts,
    private readonly sponsors: Sponsors,
    private readonly simulations: CountedSimulations,
  ) {}

  async execute({ request, caller, ended }: EstimateGas): Promise<GasEstimate> {
    const chain = this.chains.get(request.chainId);
    const call = readCall(request);
    const estimator = this.simulations.estimatorOf(chain, { caller: userKey(caller.userId), ended });
    const sponsor = await this.sponsorOf(chain, call, request, caller);
    const sponsored = sponsor && (await this.estimate({ chain, call, caller, estimator }, sponsor));
    if (sponsored) return estimateOf(sponsored, true);
    const paidByAccount = await this.estimate({ chain, call, caller, estimator }, undefined);
    if (!paidByAccount) throw new Error('an operation without a sponsor is always estimated');
    return estimateOf(paidByAccount, false);
  }

  /** Returns `undefined` if a rule refuses to sponsor the transaction. */
  private async estimate(
    { chain, call, caller: { userId }, estimator }: Asked,
    sponsor: Sponsor | undefined,
  ): Promise<UserOperation | undefined> {
    const { chainId } = chain.settings;
    const account = await this.drafts.accountOf(userId, chainId);
    const terms = { call, tip: call.tip, paymaster: sponsor?.paymaster, estimator };
    const draft = await this.drafts.draft(chain, account, terms);
    if (!sponsor) return this.drafts.withLimits(draft, needsDeploying(draft));
    if (ruleAgainstTip(draft.operation.maxPriorityFeePerGas, draft.now.tips.most) !== undefined) return undefined;
    return unlessRefused(async () => {
      const operation = await this.drafts.withLimits(draft, needsDeploying(draft));
      await this.sponsors.requireAllowed(sponsor, { chainId, userId, operation });
      return operation;
    });
  }

  private async sponsorOf(
    chain: ServedChain,
    call: Call,
    { sponsor, appApiKey }: TransactionRequest,
    { appId }: UserCaller,
  ): Promise<Sponsor | undefined> {
    const app = await this.sponsors.payingApp(appApiKey, appId);
    if (!sponsor) return undefined;
    return unlessRefused(() => this.sponsors.sponsorOf(app, { chain, sessionAppId: appId, calls: [call] }));
  }
}

const unlessRefused = async <Result>(ask: () => Promise<Result>): Promise<Result | undefined> => {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof Refusal && error.code === 'sponsorship_refused') return undefined;
    throw error;
  }
};

const estimateOf = (operation: UserOperation, sponsored: boolean): GasEstimate => ({
  callGasLimit: String(operation.callGasLimit),
  verificationGasLimit: String(operation.verificationGasLimit),
  preVerificationGas: String(operation.preVerificationGas),
  paymasterVerificationGasLimit: String(operation.paymaster?.verificationGasLimit ?? 0n),
  paymasterPostOpGasLimit: String(operation.paymaster?.postOpGasLimit ?? 0n),
  maxFeePerGas: String(operation.maxFeePerGas),
  maxPriorityFeePerGas: String(operation.maxPriorityFeePerGas),
  maxCost: String(maxCostOf(operation)),
  sponsored,
});
