import type { RpcParams, RpcResult } from '../../../../schemas/rpc/rpc-methods.ts';
import { holderKey } from '../../../../shared/auth/holder-key.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { readAccountCalls } from '../../../../shared/chain/identifiers/account-call.ts';
import { faultOfBounds } from '../../operations/domain/operation-bounds.ts';
import { STUB_PAYMASTER_DATA, userOpHash } from '../../operations/domain/operation-hash.ts';
import { feesAtMost, refusedBy, ruleAgainstGas } from '../../sponsorship-policy/domain/sponsorship-policy.ts';
import { quantityOf, maxCostOf, type UserOperation } from '../../operations/domain/user-operation.ts';
import type { CountedSimulations } from '../../served-chains/counted-simulations.ts';
import type { OperationSigner } from '../../sending/operation-signer.ts';
import type { GasLimits } from '../../gas/gas-estimator.ts';
import type { ChainNow } from '../../served-chains/served-chains.ts';
import type { Sponsor, Sponsors } from '../../sponsorship/sponsors.ts';
import { SIGNED_FOR_SECONDS, signedUntil } from '../../sending/submissions.ts';
import type { OperationEstimates } from './operation-estimates.ts';
import { readOperation } from './operation-numbers.ts';
import { invalidParams, rpcErrorOf } from './rpc-error.ts';
import type { RpcContext } from './rpc-context.ts';
import { isOurAccount, requireValid } from './validated-operations.ts';

/** The gas of a VerifyingPaymaster, measured as 18,600, with some margin. It has no `postOp`. */
const VERIFICATION_GAS = 28_000n;
/** The gas for each word of the operation, which is copied and hashed, and the quadratic cost of memory. */
const WORD_GAS = 24n;
const MEMORY_DIVISOR = 256n;
const WORD_BYTES = 32n;

type Paymaster = NonNullable<UserOperation['paymaster']>;
type Sponsored = UserOperation & { paymaster: Paymaster };

/** The paymaster's part in operations of clients (ERC-7677). */
export class SponsoredOperations {
  constructor(
    private readonly clock: Pick<Clock, 'now'>,
    private readonly sponsors: Sponsors,
    private readonly signer: Pick<OperationSigner, 'sponsor'>,
    private readonly estimates: OperationEstimates,
    private readonly simulations: CountedSimulations,
  ) {}

  async stub(
    { userOperation }: RpcParams<'pm_getPaymasterStubData'>,
    { chain }: Pick<RpcContext, 'chain'>,
  ): Promise<RpcResult<'pm_getPaymasterStubData'>> {
    const { callData, factory } = readOperation(userOperation);
    const { paymaster: address } = await chain.preparation();
    const words = BigInt(callData.length + (factory?.data ?? '').length) / 2n / WORD_BYTES;
    const verificationGasLimit = VERIFICATION_GAS + words * WORD_GAS + (words * words) / MEMORY_DIVISOR;
    const limits = { verificationGasLimit, postOpGasLimit: 0n };
    return answerOf({ address, ...limits, data: STUB_PAYMASTER_DATA });
  }

  /** Signs a simulated operation once its maximum cost is reserved. @throws RpcError */
  async sign(
    { userOperation }: RpcParams<'pm_getPaymasterData'>,
    context: RpcContext,
  ): Promise<RpcResult<'pm_getPaymasterData'>> {
    const { chain, app } = context;
    const operation = readOperation(userOperation);
    const { paymaster } = await chain.preparation();
    try {
      const sponsor = await this.sponsorOf(operation, context);
      const signed = await this.signed(
        await this.simulated(operation, sponsor, context),
        sponsor,
        countedUserOf(operation, context),
      );
      return { ...answerOf(signed), sponsor: { name: app.name } };
    } catch (error) {
      throw rpcErrorOf(error, paymaster) ?? error;
    }
  }

  /** Only the calls of our own accounts are known. */
  private async sponsorOf(operation: UserOperation, { chain, app, caller }: RpcContext): Promise<Sponsor> {
    const calls = (await isOurAccount(chain, operation)) ? readAccountCalls(operation.callData) : undefined;
    return this.sponsors.sponsorOf(app, { chain, sessionAppId: caller.appId, calls });
  }

  /** Returns the operation with our paymaster, whose data is a stub. @throws RpcError; Refusal with the rule `gas` */
  private async simulated(
    given: UserOperation,
    { chain, paymaster: address }: Sponsor,
    { caller, ended }: Pick<RpcContext, 'caller' | 'ended'>,
  ): Promise<Sponsored> {
    const { verificationGasLimit: asked = 0n, postOpGasLimit = 0n } = given.paymaster ?? {};
    const stub = { address, verificationGasLimit: asked, postOpGasLimit, data: STUB_PAYMASTER_DATA };
    const [now, needed] = await Promise.all([
      chain.now(),
      this.estimates.limitsOf({ operation: { ...given, paymaster: stub } }, { chain, caller, ended }),
    ]);
    const verificationGasLimit = asked === 0n ? needed.paymasterVerificationGasLimit : asked;
    const operation = { ...given, paymaster: { ...stub, verificationGasLimit } };
    // The client may have asked the node later than this service did.
    const dataFeeGas = await chain.dataFeeGas(operation);
    const limits = { ...needed, preVerificationGas: await chain.preVerificationGas(operation, dataFeeGas) };
    if (ruleOf(operation, limits, now) && ruleOf(operation, limits, await chain.askAnew())) throw refusedBy('gas');
    const fault = faultOfBounds(operation, { ...now, dataFeeGas });
    if (fault !== undefined) throw invalidParams(fault);
    // With the limits and fees that are sponsored. The operation is not signed yet.
    const [simulation] = await this.simulations.ofSend(chain, holderKey(caller), [{ operation }]);
    requireValid(simulation, address);
    return operation;
  }

  /** @param userId the user whose cap of the policy applies */
  private async signed(operation: Sponsored, sponsor: Sponsor, userId: string): Promise<Paymaster> {
    const { chain } = sponsor;
    const { chainId, entryPoint } = chain.settings;
    const { head } = await chain.now();
    const validUntil = signedUntil(this.clock, head, SIGNED_FOR_SECONDS.rpc);
    const data = await this.signer.sponsor(operation, { chainId, validUntil });
    const paymaster = { ...operation.paymaster, data };
    const { sender, nonce } = operation;
    await this.sponsors.reserve(sponsor, {
      ...{ chainId, sender, nonce, transactionId: null, userId, maxCostWei: maxCostOf(operation) },
      userOpHash: userOpHash({ ...operation, paymaster }, entryPoint, chainId),
      validUntilMs: validUntil * 1_000,
      headBlock: head.number,
    });
    return paymaster;
  }
}

/** An app that calls for itself acts for many users: each sender counts as a user. No user id has this prefix. */
const countedUserOf = ({ sender }: UserOperation, { caller }: Pick<RpcContext, 'caller'>): string =>
  caller.kind === 'user' ? caller.userId : `sender:${sender.toLowerCase()}`;

const ruleOf = (
  operation: Sponsored,
  needed: GasLimits & { preVerificationGas: bigint },
  { head, tips }: ChainNow,
): 'gas' | undefined =>
  ruleAgainstGas(
    {
      ...operation,
      paymasterVerificationGasLimit: operation.paymaster.verificationGasLimit,
      paymasterPostOpGasLimit: operation.paymaster.postOpGasLimit,
    },
    {
      ...needed,
      paymasterPostOpGasLimit: 0n,
      ...feesAtMost({ baseFeePerGas: head.baseFeePerGas, tip: tips.most }),
    },
  );

const answerOf = ({ address, data, verificationGasLimit, postOpGasLimit }: Paymaster) => ({
  paymaster: address,
  paymasterData: data,
  paymasterVerificationGasLimit: quantityOf(verificationGasLimit),
  paymasterPostOpGasLimit: quantityOf(postOpGasLimit),
});
