import type { IdentityEvent } from '../../../../schemas/events/account/identity-events.ts';
import type { LoginMethod } from '../../../../schemas/values.ts';
import { walletIdentityId } from '../../../../shared/chain/identifiers/wallet-identity.ts';

/** A proven way to log in, such as a wallet. */
export interface Identity {
  identityId: string;
  method: LoginMethod;
  /** How its owner recognises it: the address of a wallet, with its chain if it is a contract. */
  label: string;
}

export const walletIdentity = (address: string): Identity => ({
  identityId: walletIdentityId(address),
  method: 'wallet',
  label: address,
});
/** A contract by chain and address: somebody else may control the same address on another chain. */
export const contractAccount = (address: string, chainId: number): string =>
  `eip155:${String(chainId)}:${address.toLowerCase()}`;
/** @param identityId the keyed id of the contract's `contractAccount` */
export const contractIdentity = ({
  identityId,
  signer,
  chainId,
}: {
  identityId: string;
  signer: string;
  chainId: number;
}): Identity => ({ identityId, method: 'wallet', label: `eip155:${String(chainId)}:${signer}` });

export interface IdentityHolder {
  /** `undefined` while nobody holds the identity. */
  userId: string | undefined;
  /** How many times it was claimed. This number identifies the newest claim among all claims. */
  claims: number;
}

export const identityFold = {
  initial: { userId: undefined, claims: 0 } as IdentityHolder,
  evolve: ({ claims }: IdentityHolder, { type, data }: IdentityEvent): IdentityHolder =>
    type === 'IdentityClaimed' ? { userId: data.userId, claims: claims + 1 } : { userId: undefined, claims },
};

/** The first claim wins. It names the user, so that a later login can complete one that a crash interrupted. */
export const claimIdentity = (
  holder: IdentityHolder,
  { identityId, method, label, userId }: Identity & { userId: string },
): IdentityEvent[] =>
  holder.userId === undefined ? [{ type: 'IdentityClaimed', data: { identityId, method, label, userId } }] : [];

/** Releases a given claim, but not a later one. */
export const releaseIdentity = (
  { userId, claims }: IdentityHolder,
  { identityId, claim }: { identityId: string; claim: number },
): IdentityEvent[] =>
  userId !== undefined && claims === claim ? [{ type: 'IdentityReleased', data: { identityId, userId } }] : [];
