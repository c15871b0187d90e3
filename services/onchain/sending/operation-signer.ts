import type { AssignedAccount } from '../../../schemas/events/account/user-events.ts';
import { unavailable } from '../../../shared/errors/refusal.ts';
import type { VaultKeys } from '../../../shared/key-vault/vault-keys.ts';
import { addressOfKey } from '../../../shared/keys/signatures/secp256k1-keys.ts';
import { signDigest } from '../../../shared/keys/signatures/sign-digest.ts';
import { ownerDigest, paymasterData, paymasterDigest, userOpHash } from '../operations/domain/operation-hash.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';

type Paymaster = NonNullable<UserOperation['paymaster']>;

const hexOf = (signature: Buffer): string => `0x${signature.toString('hex')}`;

/** Signs operations with keys of the vault: users' keys for their own accounts, and the paymaster's key. */
export class OperationSigner {
  /** Multiplying a point takes ten times as long as signing. */
  private readonly addresses = new WeakMap<Buffer, string>();

  constructor(private readonly keys: Pick<VaultKeys, 'ownerKey' | 'paymasterKey'>) {}

  /**
   * Signs an operation only with the key of the owner of its account.
   * @throws Refusal user_erased; dependency_unavailable if the vault has another key
   */
  async sign(
    operation: UserOperation,
    { address, owner, chainId, entryPoint }: AssignedAccount,
    userId: string,
  ): Promise<{ operation: UserOperation; userOpHash: string }> {
    const key = await this.keys.ownerKey(userId);
    if (operation.sender !== address || this.addressOf(key) !== owner) {
      throw unavailable('the key vault has another key for this account: restore it from its backup', undefined);
    }
    const hash = userOpHash(operation, entryPoint, chainId);
    return { operation: { ...operation, signature: hexOf(signDigest(key, ownerDigest(hash))) }, userOpHash: hash };
  }

  private addressOf(key: Buffer): string {
    const address = this.addresses.get(key) ?? addressOfKey(key);
    this.addresses.set(key, address);
    return address;
  }

  /** Returns the data by which the paymaster pays for an operation, until a time in Unix seconds. */
  async sponsor(
    operation: Omit<UserOperation, 'signature'> & { paymaster: Paymaster },
    { chainId, validUntil }: { chainId: number; validUntil: number },
  ): Promise<string> {
    const validity = { validUntil, validAfter: 0 };
    const digest = paymasterDigest(operation, { chainId, ...validity });
    const signature = hexOf(signDigest(await this.keys.paymasterKey(chainId), digest));
    return paymasterData({ ...validity, signature });
  }
}
