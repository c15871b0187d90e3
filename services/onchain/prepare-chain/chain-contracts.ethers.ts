import {
  AbiCoder,
  concat,
  getCreate2Address,
  getCreateAddress,
  Interface,
  keccak256,
  Wallet,
  zeroPadValue,
} from 'ethers';
import type { RpcCall } from '../../../shared/chain/client/answer-limits.ts';
import { checkAmount, checkBytes } from '../../../shared/chain/client/answers/checked-values.ts';
import type { ChainSettings } from '../../../shared/config/chain-settings.ts';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import type { PreparedChain } from './domain/prepared-chain.ts';
import { contractCode } from '../chain/contracts.ts';
import { Funder, OperatorTransactions, TooPoor, type ChainNode } from './sent-transactions.ethers.ts';

/** Deploys with CREATE2 for any caller, at an address that follows from salt and code. It exists on most chains. */
const DEPLOYER = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
const ENTRY_POINT_SALT = '0x90d8084deab30c2a37c45e8d47f49f2f7965183cb6990a98943ef94940681de3';
const FACTORY_SALT = zeroPadValue('0x', 32);
const ENTRY_POINT = new Interface(['function depositTo(address) payable']);
const PAYMASTER = new Interface([
  'function verifyingSigner() view returns (address)',
  'function owner() view returns (address)',
  'function withdrawTo(address, uint256)',
]);
/** A paymaster's deployment costs some 1.2 million gas, a withdrawal 60,000. */
const OWNER_GAS = 2_000_000n;
const WITHDRAWAL_GAS = 100_000n;
const abi = AbiCoder.defaultAbiCoder();

/** Private keys, `0x` hex. */
export interface ChainKeys {
  /** Owns the paymaster and signs for it; `undefined` for a chain that was never prepared. */
  paymaster: string | undefined;
  executors: readonly string[];
}

export interface Funding {
  /** The private key of the account that pays for missing contracts and balances. */
  funderKey: string | undefined;
  /** The least deposit of the paymaster, and the least balance of each executor. */
  depositWei: bigint;
  executorWei: bigint;
}

export interface ChainState {
  chainId: number;
  entryPoint: string;
  accountFactory: string;
  /** `null` while there is none. */
  paymaster: { address: string; owner: string; depositWei: string } | null;
  executors: { address: string; wei: string; nonce: number }[];
  /** The contracts that are not deployed. */
  missing: string[];
}

/** The contracts and accounts with which operations are sent on one chain. */
export class ChainContracts {
  private readonly transactions: OperatorTransactions;
  private readonly knownOwner: Wallet | undefined;
  private readonly executors: readonly Wallet[];

  /** @param known the recorded preparation of this chain */
  constructor(
    private readonly node: ChainNode,
    private readonly chain: ChainSettings,
    keys: ChainKeys,
    private readonly known?: PreparedChain,
  ) {
    this.transactions = new OperatorTransactions(node, chain);
    this.knownOwner = keys.paymaster === undefined ? undefined : new Wallet(keys.paymaster);
    this.executors = keys.executors.map((key) => new Wallet(key));
  }

  private get owner(): Wallet {
    if (!this.knownOwner) throw new CannotStart('the chain has no paymaster key yet: run "annals chain prepare"');
    return this.knownOwner;
  }

  /** Deploys and funds missing contracts and accounts, and changes nothing else. @throws CannotStart */
  async prepare({ funderKey, depositWei, executorWei }: Funding): Promise<PreparedChain> {
    await this.requireOverrides();
    const { entryPoint, accountFactory } = this.chain;
    const funder = new Funder(this.transactions, this.chain.chainId, funderKey);
    const factoryCode = concat([contractCode.SimpleAccountFactory, word(entryPoint)]);
    await this.deploy(funder, entryPoint, ENTRY_POINT_SALT, contractCode.EntryPoint);
    await this.deploy(funder, accountFactory, FACTORY_SALT, factoryCode);
    for (const { address } of this.executors) await this.topUp(funder, address, executorWei);
    const paymaster = await this.ensurePaymaster(funder);
    // Without a funder, the withdrawal itself reports who has too little.
    if (funderKey !== undefined) await this.letOwnerWithdraw(funder);
    const missingWei = depositWei - (await this.depositOf(paymaster));
    if (missingWei > 0n) {
      const data = ENTRY_POINT.encodeFunctionData('depositTo', [paymaster]);
      await funder.send({ to: entryPoint, data, value: missingWei });
    }
    return {
      entryPoint,
      accountFactory,
      paymaster,
      paymasterOwner: this.owner.address,
      executors: this.executors.map(({ address }) => address),
    };
  }

  async state(): Promise<ChainState> {
    await this.requireOverrides();
    const { chainId, entryPoint, accountFactory } = this.chain;
    const paymaster = await this.findPaymaster();
    const deployed = { entryPoint, accountFactory };
    const missing: string[] = paymaster === undefined ? ['paymaster'] : [];
    for (const [name, address] of Object.entries(deployed)) if (!(await this.hasCode(address))) missing.unshift(name);
    return {
      chainId,
      ...deployed,
      paymaster: paymaster === undefined ? null : await this.paymasterState(paymaster),
      executors: await Promise.all(
        this.executors.map(async ({ address }) => ({
          address,
          wei: String(await this.balanceOf(address)),
          nonce: await this.transactions.nextNonce(address),
        })),
      ),
      missing,
    };
  }

  /** Takes from the paymaster's deposit. @returns the hash of the included transaction. @throws CannotStart */
  async withdraw(wei: bigint, to: string): Promise<string> {
    const paymaster = await this.findPaymaster();
    if (paymaster === undefined) throw new CannotStart('there is no paymaster on this chain: nothing to withdraw from');
    const deposit = await this.depositOf(paymaster);
    if (deposit < wei) throw new CannotStart(`the deposit is ${String(deposit)} wei: withdraw no more than that`);
    const data = PAYMASTER.encodeFunctionData('withdrawTo', [to, wei]);
    const nonce = await this.transactions.nextNonce(this.owner.address);
    return this.transactions.send(this.owner, { to: paymaster, data, nonce });
  }

  /** The node shows its fork by what it executes with state overrides, which every simulation needs. @throws MethodMissing */
  private async requireOverrides(): Promise<void> {
    await this.node.operations.forkRules();
  }

  private async deploy(funder: Funder, address: string, salt: string, code: string): Promise<void> {
    if (await this.hasCode(address)) return;
    const made = getCreate2Address(DEPLOYER, salt, keccak256(code));
    if (made !== address) {
      throw new CannotStart(
        `nothing is deployed at ${address}, and what would be deployed has ${made}: correct CHAINS`,
      );
    }
    if (!(await this.hasCode(DEPLOYER))) {
      const { chainId } = this.chain;
      throw new CannotStart(`chain ${String(chainId)} has no deterministic deployer at ${DEPLOYER}: deploy it first`);
    }
    await funder.send({ to: DEPLOYER, data: concat([salt, code]) });
  }

  private async ensurePaymaster(funder: Funder): Promise<string> {
    const found = await this.findPaymaster();
    if (found !== undefined) return found;
    await this.topUpOwner(funder);
    const constructorArguments = abi.encode(['address', 'address'], [this.chain.entryPoint, this.owner.address]);
    const nonce = await this.transactions.nextNonce(this.owner.address);
    const data = concat([contractCode.VerifyingPaymaster, constructorArguments]);
    const deploy = () => this.transactions.send(this.owner, { nonce, data });
    await deploy().catch(async (error: unknown) => {
      if (!(error instanceof TooPoor)) throw error;
      // The refusal of this transaction may have named a higher price than the owner was given.
      await this.topUpOwner(funder);
      await deploy();
    });
    return getCreateAddress({ from: this.owner.address, nonce });
  }

  private async letOwnerWithdraw(funder: Funder): Promise<void> {
    const price = await this.transactions.price();
    if ((await this.balanceOf(this.owner.address)) >= WITHDRAWAL_GAS * price) return;
    await this.topUpOwner(funder);
  }

  private async topUpOwner(funder: Funder): Promise<void> {
    await this.topUp(funder, this.owner.address, OWNER_GAS * (await this.transactions.price()));
  }

  /** Returns the paymaster of the settings, else the recorded one, else the first contract of its owner. */
  private async findPaymaster(): Promise<string | undefined> {
    const { paymaster } = this.chain;
    const { knownOwner } = this;
    if (!knownOwner && paymaster === undefined) return undefined;
    const first = knownOwner && getCreateAddress({ from: knownOwner.address, nonce: 0 });
    const candidates = paymaster === undefined ? [this.known?.paymaster, first] : [paymaster];
    for (const address of candidates) {
      if (address === undefined || !(await this.hasCode(address))) continue;
      await this.requireOurs(address);
      return address;
    }
    if (paymaster !== undefined) throw new CannotStart(`there is no paymaster at ${paymaster}: correct CHAINS`);
    return undefined;
  }

  private async requireOurs(paymaster: string): Promise<void> {
    const signer = await this.addressFrom(paymaster, 'verifyingSigner');
    if (signer === this.owner.address) return;
    throw new CannotStart(`the paymaster ${paymaster} takes signatures of ${signer}, not of the key in this vault`);
  }

  private async paymasterState(address: string): Promise<NonNullable<ChainState['paymaster']>> {
    const owner = await this.addressFrom(address, 'owner');
    return { address, owner, depositWei: String(await this.depositOf(address)) };
  }

  private async addressFrom(paymaster: string, name: 'owner' | 'verifyingSigner'): Promise<string> {
    const call: RpcCall = {
      method: 'eth_call',
      params: [{ to: paymaster, data: PAYMASTER.encodeFunctionData(name) }, 'latest'],
    };
    const answer = await this.node.client.call('the paymaster', [call], ([result]) => checkBytes(result, 'an address'));
    return PAYMASTER.decodeFunctionResult(name, answer)[0] as string;
  }

  private async depositOf(paymaster: string): Promise<bigint> {
    const [state] = await this.node.operations.accounts([paymaster]);
    return state?.depositWei ?? 0n;
  }

  private async topUp(funder: Funder, to: string, wei: bigint): Promise<void> {
    const missing = wei - (await this.balanceOf(to));
    if (missing > 0n) await funder.send({ to, value: missing });
  }

  private async balanceOf(address: string): Promise<bigint> {
    const call: RpcCall = { method: 'eth_getBalance', params: [address, 'latest'] };
    return this.node.client.call('a balance', [call], ([wei]) => checkAmount(wei, 'the balance'));
  }

  private async hasCode(address: string): Promise<boolean> {
    const call: RpcCall = { method: 'eth_getCode', params: [address, 'latest'] };
    return this.node.client.call('code', [call], ([code]) => checkBytes(code, 'the code') !== '0x');
  }
}

const word = (address: string): string => abi.encode(['address'], [address]);
