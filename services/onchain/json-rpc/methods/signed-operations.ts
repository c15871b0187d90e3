import { executorStream } from '../../../../schemas/events/onchain/executor-events.ts';
import { transactionStream } from '../../../../schemas/events/onchain/transaction-events.ts';
import { rpcCodes } from '../../../../schemas/rpc/rpc-messages.ts';
import type { RpcParams } from '../../../../schemas/rpc/rpc-methods.ts';
import type { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { Throttled } from '../../reputation/domain/entity.ts';
import { executorFold } from '../../bundler/domain/executor.ts';
import { holderOf, NonceTaken } from '../../transactions/domain/nonces.ts';
import { faultOfBounds } from '../../operations/domain/operation-bounds.ts';
import { userOpHash as hashOf } from '../../operations/domain/operation-hash.ts';
import type { PreparedChain } from '../../prepare-chain/domain/prepared-chain.ts';
import { idOfOperation, putBack, submit, transactionFold } from '../../transactions/domain/transaction.ts';
import { loadTransaction } from '../../transactions/load-transaction.ts';
import { maxCostOf, storedOperation, type UserOperation } from '../../operations/domain/user-operation.ts';
import type { AccountNonces } from '../../transactions/account-nonces.ts';
import type { ChainConditions } from '../../served-chains/chain-conditions.ts';
import type { CountedSimulations } from '../../served-chains/counted-simulations.ts';
import type { Deposits } from '../../sponsorship/deposits.ts';
import type { Simulation } from '../../chain/operations-chain.ts';
import type { ServedChain } from '../../served-chains/served-chains.ts';
import type { ForeignOperations } from './foreign-operations.ts';
import { readOperation } from './operation-numbers.ts';
import { invalidParams, RpcError } from './rpc-error.ts';
import type { RpcContext } from './rpc-context.ts';
import { validate } from './validated-operations.ts';

type Valid = Extract<Simulation, { kind: 'valid' }>;

interface Signed {
  transactionId: string;
  userOpHash: string;
  operation: UserOperation;
  prepared: PreparedChain;
  simulation: Valid;
  headBlock: number;
}

/** Accepts operations that clients signed. Stored operations are carried out. */
export class SignedOperations {
  constructor(
    private readonly transactor: Transactor,
    private readonly nonces: AccountNonces,
    private readonly foreign: ForeignOperations,
    private readonly deposits: Deposits,
    private readonly conditions: Pick<ChainConditions, 'requireGas'>,
    private readonly simulations: CountedSimulations,
  ) {}

  /** @returns the hash of the operation, also for a repeat. @throws RpcError, Refusal, ChainUnavailable */
  async send({ userOperation }: RpcParams<'eth_sendUserOperation'>, context: RpcContext): Promise<string> {
    const { chain } = context;
    const { chainId, entryPoint } = chain.settings;
    const operation = readOperation(userOperation);
    const userOpHash = hashOf(operation, entryPoint, chainId);
    const transactionId = idOfOperation(chainId, entryPoint, userOpHash);
    if (await this.isKnown(transactionId, context)) return userOpHash;
    const [now, dataFeeGas] = await Promise.all([chain.now(), chain.dataFeeGas(operation)]);
    const fault = faultOfBounds(operation, { ...now, dataFeeGas });
    if (fault !== undefined) throw invalidParams(fault);
    if (await this.isHeldBy(userOpHash, operation, chainId)) return userOpHash;
    const [prepared, simulation] = await Promise.all([
      chain.preparation(),
      validate(operation, context, { simulations: this.simulations, clock: this.transactor.clock }),
    ]);
    const signed = { transactionId, userOpHash, operation, prepared, simulation, headBlock: now.head.number };
    await this.requireDeposit(chain, signed);
    await this.conditions.requireGas(chain);
    try {
      const withdraw = await this.foreign.admit(signed, context);
      await this.store(await this.claim(signed, context, withdraw), signed, context);
    } catch (error) {
      if (error instanceof NonceTaken) throw invalidParams(error.message);
      if (!(error instanceof Throttled)) throw error;
      throw new RpcError(rpcCodes.throttled, error.message, { address: error.address });
    }
    return userOpHash;
  }

  /** Puts an operation back that `debug_bundler_clearState` took out of the mempool. */
  private async isKnown(transactionId: string, { metadata }: RpcContext): Promise<boolean> {
    const stream = transactionStream(transactionId);
    const { state } = await this.transactor.load(stream, transactionFold);
    if (state && putBack(state).length > 0)
      await this.transactor.transact({ stream, fold: transactionFold, metadata, decide: putBack });
    return state !== undefined;
  }

  /** This service signed it itself, and somebody has seen it. */
  private async isHeldBy(userOpHash: string, { sender, nonce }: UserOperation, chainId: number): Promise<boolean> {
    const holder = holderOf(await this.nonces.of({ chainId, sender }), nonce);
    const transaction = holder === undefined ? undefined : await loadTransaction(this.transactor, holder);
    return transaction?.submission.userOpHash === userOpHash;
  }

  /** Of our paymaster: everything that it signed. @throws RpcError */
  private async requireDeposit(chain: ServedChain, { operation, prepared }: Signed): Promise<void> {
    const paymaster = operation.paymaster?.address;
    if (paymaster === undefined || paymaster !== prepared.paymaster) return;
    const { wei, reservedWei } = await this.deposits.of(chain, paymaster);
    if (reservedWei <= wei) return;
    throw new RpcError(rpcCodes.depositTooLow, 'AA31 paymaster deposit too low for all that is pending', { paymaster });
  }

  private async claim(
    { transactionId, operation, prepared }: Signed,
    { chain, metadata }: RpcContext,
    withdraw: () => Promise<void>,
  ): Promise<string | null> {
    const { sender, nonce, factory, maxFeePerGas, maxPriorityFeePerGas } = operation;
    const { chainId } = chain.settings;
    const claim = { chainId, sender, nonce, deploys: factory !== undefined, maxFeePerGas, maxPriorityFeePerGas };
    try {
      return await this.nonces.claim(transactionId, claim, () => this.bundled(chainId, prepared), metadata);
    } catch (error) {
      if (error instanceof NonceTaken) await withdraw();
      throw error;
    }
  }

  /** Returns the transactions in bundles whose nonces are not used yet. */
  private async bundled(chainId: number, { executors }: PreparedChain): Promise<Set<string>> {
    const loaded = await Promise.all(
      executors.map((executor) => this.transactor.load(executorStream(chainId, executor), executorFold)),
    );
    const bundles = loaded.flatMap(({ state }) => state.bundles);
    return new Set(bundles.filter(({ mined }) => !mined).flatMap(({ operations }) => operations));
  }

  private async store(replaces: string | null, signed: Signed, { chain, app, metadata }: RpcContext): Promise<void> {
    const { transactionId, userOpHash, operation, prepared, simulation, headBlock } = signed;
    const { chainId, entryPoint } = chain.settings;
    const { sender, nonce, paymaster } = operation;
    const isSponsored = paymaster?.address === prepared.paymaster;
    // Only of ours it is known that the time which it answered is what it signed for.
    const until = isSponsored ? simulation.paymaster.until : 0;
    await this.transactor.transact({
      stream: transactionStream(transactionId),
      fold: transactionFold,
      metadata,
      decide: (known) =>
        submit(known, {
          ...{ transactionId, userId: null, appId: app.id, chainId, sender, nonce: String(nonce), userOpHash },
          ...{ entryPoint, operation: storedOperation(operation), sponsor: isSponsored },
          maxCostWei: String(maxCostOf(operation)),
          validUntil: until === 0 ? null : toIso(until * 1_000),
          headBlock,
          replaces,
        }),
    });
  }
}
