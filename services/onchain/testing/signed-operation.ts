import { signDigest } from '../../../shared/keys/signatures/sign-digest.ts';
import {
  ownerDigest,
  paymasterData,
  paymasterDigest,
  userOpHash,
  type Validity,
} from '../operations/domain/operation-hash.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';

interface Signers {
  chainId: number;
  entryPoint: string;
  owner: Uint8Array;
  /** The signer for the operation's paymaster, if it has one. */
  paymaster?: { key: Uint8Array } & Validity;
}

/** Returns an operation with the signatures of its paymaster and of the account's owner. */
export const signOperation = (
  unsigned: UserOperation,
  { chainId, entryPoint, owner, paymaster }: Signers,
): UserOperation => {
  const { paymaster: payer } = unsigned;
  const sponsored =
    payer && paymaster ? { ...unsigned, paymaster: sponsor(unsigned, payer, paymaster, chainId) } : unsigned;
  return { ...sponsored, signature: hex(signDigest(owner, ownerDigest(userOpHash(sponsored, entryPoint, chainId)))) };
};

const sponsor = (
  unsigned: UserOperation,
  payer: NonNullable<UserOperation['paymaster']>,
  { key, validUntil, validAfter }: NonNullable<Signers['paymaster']>,
  chainId: number,
): NonNullable<UserOperation['paymaster']> => {
  const digest = paymasterDigest({ ...unsigned, paymaster: payer }, { chainId, validUntil, validAfter });
  return { ...payer, data: paymasterData({ validUntil, validAfter, signature: hex(signDigest(key, digest)) }) };
};

const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;
