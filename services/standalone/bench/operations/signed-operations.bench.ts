import { newPrivateKey, addressOfKey } from '../../../../shared/keys/signatures/secp256k1-keys.ts';
import { executeCall } from '../../../onchain/operations/domain/account-calls.ts';
import { userOpHash } from '../../../onchain/operations/domain/operation-hash.ts';
import { accountAddress } from '../../../onchain/smart-accounts/domain/smart-account.ts';
import { nonceOf, type UserOperation } from '../../../onchain/operations/domain/user-operation.ts';
import { signOperation } from '../../../onchain/testing/signed-operation.ts';

const GWEI = 10n ** 9n;
/** A recipient that does nothing. */
export const RECIPIENT = '0x00000000000000000000000000000000000b0b00';

/**
 * Enough gas for an operation of a deployed account that calls an address without code, with its first nonce of a key.
 */
export const ENOUGH_GAS = { callGasLimit: 20_000n, verificationGasLimit: 90_000n, preVerificationGas: 60_000n };

export interface OwnedAccount {
  address: string;
  owner: string;
  key: Buffer;
}

export interface SignedOperation {
  userOpHash: string;
  /** In JSON-RPC's form. */
  wire: Record<string, string>;
}

export const newAccounts = (count: number, factory: string): OwnedAccount[] =>
  Array.from({ length: count }, () => {
    const key = newPrivateKey();
    const owner = addressOfKey(key);
    return { key, owner, address: accountAddress(factory, owner) };
  });

/** Returns fees that blocks accept for some minutes, whatever else is in them. */
export const feesAbove = (baseFee: bigint) => ({ maxFeePerGas: 4n * baseFee + GWEI, maxPriorityFeePerGas: GWEI });

/**
 * Signs operations for which accounts pay themselves: one of each account, then the next ones, each with a nonce key of
 * its own.
 */
export const signOperations = (
  accounts: readonly OwnedAccount[],
  {
    count,
    firstKey,
    ...chain
  }: { count: number; firstKey: number; chainId: number; entryPoint: string; baseFee: bigint },
): SignedOperation[] =>
  Array.from({ length: Math.ceil(count / accounts.length) }, (_, round) =>
    accounts.map(({ address, key }) => {
      const unsigned: UserOperation = {
        sender: address,
        nonce: nonceOf(BigInt(firstKey + round), 0n),
        factory: undefined,
        callData: executeCall({ to: RECIPIENT, value: 0n, data: '0x' }),
        ...ENOUGH_GAS,
        ...feesAbove(chain.baseFee),
        paymaster: undefined,
        signature: '0x',
      };
      const operation = signOperation(unsigned, { ...chain, owner: key });
      return { userOpHash: userOpHash(operation, chain.entryPoint, chain.chainId), wire: wireOf(operation) };
    }),
  )
    .flat()
    .slice(0, count);

const wireOf = ({ sender, nonce, callData, signature, ...one }: UserOperation): Record<string, string> => ({
  sender,
  nonce: hex(nonce),
  callData,
  callGasLimit: hex(one.callGasLimit),
  verificationGasLimit: hex(one.verificationGasLimit),
  preVerificationGas: hex(one.preVerificationGas),
  maxFeePerGas: hex(one.maxFeePerGas),
  maxPriorityFeePerGas: hex(one.maxPriorityFeePerGas),
  signature,
});

const hex = (value: bigint): string => `0x${value.toString(16)}`;
