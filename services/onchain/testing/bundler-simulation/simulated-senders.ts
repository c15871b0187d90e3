import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { transactionStream } from '../../../../schemas/events/onchain/transaction-events.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import type { MempoolEntry } from '../../bundler/mempool/mempool.ts';
import type { Resigner, ResignOutcome } from '../../bundler/mempool/resigner.ts';
import { createAccountData, executeCall } from '../../operations/domain/account-calls.ts';
import { ownerDigest, paymasterDigest, userOpHash } from '../../operations/domain/operation-hash.ts';
import { idOfReplacement, submit, transactionFold } from '../../transactions/domain/transaction.ts';
import { maxCostOf, storedOperation, type UserOperation } from '../../operations/domain/user-operation.ts';
import { AccountNonces } from '../../transactions/account-nonces.ts';
import type { Sponsorships } from '../../sponsorship/sponsorships.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { signOperation } from '../signed-operation.ts';
import type { SimulatedChain } from '../simulated-chain/simulated-chain.ts';
import { OWNERS, PAYMASTER, REFUSING } from '../simulated-chain/simulated-contracts.ts';
import { named } from '../simulated-chain/simulated-state.ts';

/** An operation that a user sent once, with the ids of all transactions signed for it. Outlives the processes. */
export interface Send {
  ids: string[];
}

/** The app of every operation. */
export const APP = 'app_simulated';
const FRIEND = '0x0000000000000000000000000000000000004001';
const GWEI = 10n ** 9n;
const SIGNATURE_DIGITS = 130;
const VALID_SECONDS = [60, 300] as const;

/** Users who send operations through one process, which stores the same events in the same order as the service. */
export class SimulatedSenders implements Resigner {
  private readonly nonces: AccountNonces;
  private readonly metadata: EventMetadata;

  constructor(
    private readonly chain: SimulatedChain,
    private readonly random: SeededRandom,
    private readonly sends: Send[],
    private readonly transactor: Transactor,
    private readonly sponsorships: Sponsorships,
  ) {
    this.nonces = new AccountNonces(transactor);
    this.metadata = { correlationId: transactor.ids.token(20), actor: { type: 'system', id: 'simulation' } };
  }

  /** One user sends one operation. @throws Refusal sponsorship_refused */
  async send(): Promise<void> {
    const { random, chain, nonces } = this;
    const owner = (random.pick(OWNERS) ?? PAYMASTER).address;
    const sender = chain.entryPoint.accountOf(owner);
    const id = `tx_${random.hash().slice(2, 28)}`;
    const account = { chainId: chain.options.chainId, sender };
    const isDeployed = chain.state.get(named.code(sender)) === 1n;
    const inUse = await nonces.inUse(account);
    const { nonce, deploys } = await nonces.assign(id, { ...account, isDeployed }, inUse, this.metadata);
    const to = random.chance(0.15) ? REFUSING : FRIEND;
    const tip = BigInt(random.between(1, 3)) * GWEI;
    this.sends.push({ ids: [id] });
    const submitting = this.submit(id, null, {
      ...{ sender, nonce, factory: deploys ? this.factory(owner) : undefined },
      callData: executeCall({ to, value: BigInt(random.between(0, 2)), data: `0x${id.slice(-20)}` }),
      ...{ callGasLimit: 100_000n, verificationGasLimit: 400_000n, preVerificationGas: 50_000n },
      ...{ ...this.feesOf(tip), signature: '0x' },
      paymaster: random.chance(0.6) ? this.paymaster() : undefined,
    });
    try {
      await submitting;
    } catch (error) {
      if (error instanceof Refusal) await nonces.release(id, account, this.metadata);
      throw error;
    }
  }

  /** Signs an operation again with the same nonce, with or without the factory. */
  async resign(...[entry, { deploys, raisesTip = false }]: Parameters<Resigner['resign']>): Promise<ResignOutcome> {
    const { id, operation } = entry;
    const { sender, nonce } = operation;
    const replacement = idOfReplacement(id, 'signed anew');
    const { state: known } = await this.transactor.load(transactionStream(replacement), transactionFold);
    if (known) return known.status === 'dropped' ? 'never' : 'done';
    const send = this.sends.find(({ ids }) => ids.includes(id));
    if (send && !send.ids.includes(replacement)) send.ids.push(replacement);
    const account = { chainId: this.chain.options.chainId, sender };
    await this.nonces.reassign(replacement, { ...account, nonce, deploys }, this.metadata);
    const factory = deploys ? this.factory(this.ownerOf(sender).address) : undefined;
    try {
      const fees = raisesTip ? this.feesOf(this.chain.pool.leastTip) : {};
      await this.submit(replacement, entry, { ...operation, ...fees, factory });
      return 'done';
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return 'refused now';
    }
  }

  /** Signs and stores an operation. Nobody sees the signature before it is stored. */
  private async submit(
    id: string,
    replaced: Pick<MempoolEntry, 'id' | 'transaction'> | null,
    unsigned: UserOperation,
  ): Promise<void> {
    const { chain, transactor, sponsorships, random } = this;
    const { chainId, entryPoint } = chain.options;
    const { sender, nonce } = unsigned;
    const laterSeconds = Math.max(Math.floor(transactor.clock.now() / 1_000), chain.head.timestamp);
    // As `OperationResigner` does.
    const atLeast = Date.parse(replaced?.transaction.submission.validUntil ?? new Date(0).toISOString()) / 1_000;
    const validUntil = Math.max(atLeast, laterSeconds + random.between(...VALID_SECONDS));
    const owner = this.ownerOf(sender).privateKey;
    const paymaster = { key: PAYMASTER.privateKey, validUntil, validAfter: 0 };
    const operation = signOperation(unsigned, { chainId, entryPoint, owner, paymaster });
    const hash = userOpHash(operation, entryPoint, chainId);
    this.tellSigners(operation, { hash, validUntil });
    const headBlock = chain.head.number;
    const maxCostWei = maxCostOf(operation);
    if (operation.paymaster) {
      const deposit = { wei: chain.state.get(named.deposit(operation.paymaster.address)), reservedWei: 0n };
      const slot = { chainId, sender, nonce, userId: sender, headBlock };
      const signature = { ...slot, transactionId: id, userOpHash: hash, maxCostWei, validUntilMs: validUntil * 1_000 };
      const policy = { dayWei: null, userDayWei: null };
      await sponsorships.reserve({ appId: APP, signature, policy, deposit, entryPoint });
    }
    const subject = { transactionId: id, userId: sender, appId: 'app', chainId, sender, nonce: String(nonce) };
    const submission = {
      ...{ ...subject, userOpHash: hash, entryPoint, operation: storedOperation(operation) },
      ...{
        sponsor: operation.paymaster !== undefined,
        maxCostWei: String(maxCostWei),
        headBlock,
        replaces: replaced?.id ?? null,
      },
      hasChosenTip: replaced === null && random.chance(0.1),
      validUntil: operation.paymaster ? new Date(validUntil * 1_000).toISOString() : null,
    };
    await transactor.transact({
      stream: transactionStream(id),
      fold: transactionFold,
      metadata: this.metadata,
      decide: (known) => submit(known, submission),
    });
  }

  private tellSigners(operation: UserOperation, { hash, validUntil }: { hash: string; validUntil: number }): void {
    const { entryPoint, options } = this.chain;
    const { signature, paymaster, sender } = operation;
    entryPoint.noteSigner({ digest: ownerDigest(hash), signature, signer: this.ownerOf(sender).address });
    if (!paymaster) return;
    const validity = { chainId: options.chainId, validUntil, validAfter: 0 };
    const digest = paymasterDigest({ ...operation, paymaster }, validity);
    const ofPaymaster = `0x${paymaster.data.slice(-SIGNATURE_DIGITS)}`;
    entryPoint.noteSigner({ digest, signature: ofPaymaster, signer: PAYMASTER.address });
  }

  private feesOf(tip: bigint): Pick<UserOperation, 'maxFeePerGas' | 'maxPriorityFeePerGas'> {
    return { maxFeePerGas: 2n * this.chain.head.baseFeePerGas + tip, maxPriorityFeePerGas: tip };
  }

  private ownerOf(sender: string): (typeof OWNERS)[number] {
    const owner = OWNERS.find(({ address }) => this.chain.entryPoint.accountOf(address) === sender);
    if (!owner) throw new Error(`nobody owns ${sender}`);
    return owner;
  }

  private factory(owner: string): NonNullable<UserOperation['factory']> {
    return { address: this.chain.options.factory, data: createAccountData(owner) };
  }

  private paymaster(): NonNullable<UserOperation['paymaster']> {
    const { address } = this.chain.options.paymaster;
    return { address, verificationGasLimit: 60_000n, postOpGasLimit: 0n, data: '0x' };
  }
}
