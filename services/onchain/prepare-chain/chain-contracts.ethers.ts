import {
  AbiCoder,
  concat,
  Contract,
  getCreate2Address,
  getCreateAddress,
  JsonRpcProvider,
  keccak256,
  Wallet,
  zeroPadValue,
} from 'ethers';
import type { ChainSettings } from '../../../shared/config/chain-settings.ts';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import type { PreparedChain } from './domain/prepared-chain.ts';
import { contractCode } from './contracts.ts';
import { Funder, sendFrom } from './sent-transactions.ethers.ts';

/** Deploys with CREATE2 for any caller, at an address that follows from salt and code. It exists on most chains. */
const DEPLOYER = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
const ENTRY_POINT_SALT = '0x90d8084deab30c2a37c45e8d47f49f2f7965183cb6990a98943ef94940681de3';
const FACTORY_SALT = zeroPadValue('0x', 32);
const ENTRY_POINT_ABI = [
  'function depositTo(address) payable',
  'function balanceOf(address) view returns (uint256)',
] as const;
const PAYMASTER_ABI = [
  'function verifyingSigner() view returns (address)',
  'function owner() view returns (address)',
  'function withdrawTo(address, uint256)',
] as const;
/** A paymaster's deployment costs some 1.2 million gas, a withdrawal 60,000. */
const OWNER_GAS = 2_000_000n;
const WITHDRAWAL_GAS = 100_000n;
const POLL_MS = 20;
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
  private readonly provider: JsonRpcProvider;
  private readonly knownOwner: Wallet | undefined;
  private readonly executors: readonly Wallet[];

  /** @param known the recorded preparation of this chain */
  constructor(
    private readonly chain: ChainSettings,
    keys: ChainKeys,
    private readonly known: PreparedChain | undefined,
  ) {
    const { chainId, rpcUrls } = chain;
    this.provider = new JsonRpcProvider(rpcUrls[0], chainId, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: POLL_MS,
    });
    this.knownOwner = keys.paymaster === undefined ? undefined : new Wallet(keys.paymaster, this.provider);
    this.executors = keys.executors.map((key) => new Wallet(key, this.provider));
  }

  private get owner(): Wallet {
    if (!this.knownOwner) throw new CannotStart('the chain has no paymaster key yet: run "annals chain prepare"');
    return this.knownOwner;
  }

  close(): void {
    this.provider.destroy();
  }

  /** Deploys and funds missing contracts and accounts, and changes nothing else. @throws CannotStart */
  async prepare({ funderKey, depositWei, executorWei }: Funding): Promise<PreparedChain> {
    await this.requireChain();
    const { entryPoint, accountFactory } = this.chain;
    const funder = new Funder(this.provider, this.chain.chainId, funderKey);
    await Promise.all([
      this.deploy(funder, entryPoint, ENTRY_POINT_SALT, contractCode.EntryPoint),
      this.deploy(funder, accountFactory, FACTORY_SALT, concat([contractCode.SimpleAccountFactory, word(entryPoint)])),
      ...this.executors.map(({ address }) => this.topUp(funder, address, executorWei)),
    ]);
    const paymaster = await this.ensurePaymaster(funder);
    // Without a funder, the withdrawal itself reports who has too little.
    if (funderKey !== undefined) await this.letOwnerWithdraw(funder);
    const missingWei = depositWei - (await this.depositOf(paymaster));
    if (missingWei > 0n) {
      const data = new Contract(entryPoint, ENTRY_POINT_ABI).interface.encodeFunctionData('depositTo', [paymaster]);
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
    await this.requireChain();
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
          wei: String(await this.provider.getBalance(address)),
          nonce: await this.provider.getTransactionCount(address, 'latest'),
        })),
      ),
      missing,
    };
  }

  /** Takes from the paymaster's deposit. @returns the hash of the included transaction. @throws CannotStart */
  async withdraw(wei: bigint, to: string): Promise<string> {
    await this.requireChain();
    const paymaster = await this.findPaymaster();
    if (paymaster === undefined) throw new CannotStart('there is no paymaster on this chain: nothing to withdraw from');
    const deposit = await this.depositOf(paymaster);
    if (deposit < wei) throw new CannotStart(`the deposit is ${String(deposit)} wei: withdraw no more than that`);
    const data = new Contract(paymaster, PAYMASTER_ABI).interface.encodeFunctionData('withdrawTo', [to, wei]);
    return sendFrom(this.owner, { to: paymaster, data });
  }

  private async requireChain(): Promise<void> {
    const { chainId } = this.chain;
    let answered: bigint;
    try {
      answered = BigInt((await this.provider.send('eth_chainId', [])) as string);
    } catch (cause) {
      throw new CannotStart(`the node of chain ${String(chainId)} does not answer: see that it runs`, { cause });
    }
    if (answered === BigInt(chainId)) return;
    throw new CannotStart(`the node answers for chain ${String(answered)}, not ${String(chainId)}: correct CHAINS`);
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
    await this.topUp(funder, this.owner.address, OWNER_GAS * (await this.gasPrice()));
    const constructorArguments = abi.encode(['address', 'address'], [this.chain.entryPoint, this.owner.address]);
    const nonce = await this.provider.getTransactionCount(this.owner.address, 'latest');
    await sendFrom(this.owner, { nonce, data: concat([contractCode.VerifyingPaymaster, constructorArguments]) });
    return getCreateAddress({ from: this.owner.address, nonce });
  }

  private async letOwnerWithdraw(funder: Funder): Promise<void> {
    const price = await this.gasPrice();
    if ((await this.provider.getBalance(this.owner.address)) >= WITHDRAWAL_GAS * price) return;
    await this.topUp(funder, this.owner.address, OWNER_GAS * price);
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
    const signer = (await new Contract(paymaster, PAYMASTER_ABI, this.provider).getFunction(
      'verifyingSigner',
    )()) as string;
    if (signer === this.owner.address) return;
    throw new CannotStart(`the paymaster ${paymaster} takes signatures of ${signer}, not of the key in this vault`);
  }

  private async paymasterState(address: string): Promise<NonNullable<ChainState['paymaster']>> {
    const owner = (await new Contract(address, PAYMASTER_ABI, this.provider).getFunction('owner')()) as string;
    return { address, owner, depositWei: String(await this.depositOf(address)) };
  }

  private async depositOf(paymaster: string): Promise<bigint> {
    const entryPoint = new Contract(this.chain.entryPoint, ENTRY_POINT_ABI, this.provider);
    return (await entryPoint.getFunction('balanceOf')(paymaster)) as bigint;
  }

  private async topUp(funder: Funder, to: string, wei: bigint): Promise<void> {
    const missing = wei - (await this.provider.getBalance(to));
    if (missing > 0n) await funder.send({ to, value: missing });
  }

  private async gasPrice(): Promise<bigint> {
    const { maxFeePerGas, gasPrice } = await this.provider.getFeeData();
    return maxFeePerGas ?? gasPrice ?? 0n;
  }

  private async hasCode(address: string): Promise<boolean> {
    return (await this.provider.getCode(address)) !== '0x';
  }
}

const word = (address: string): string => abi.encode(['address'], [address]);
