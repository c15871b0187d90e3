import type { IdentityEvent } from '../../../schemas/events/identity-events.ts';
import type { LoginMethod } from '../../../schemas/values.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';

/** A proven way to log in, such as a wallet. */
export interface Identity {
  identityId: string;
  method: LoginMethod;
  /** How its owner knows it: the address of a wallet. */
  label: string;
}

export const walletIdentity = (address: string): Identity => ({
  identityId: sha256(`wallet:${address.toLowerCase()}`),
  method: 'wallet',
  label: address,
});
export const identityStream = (identityId: string): string => `identity-${identityId}`;

type State = { userId: string } | undefined;

export const identityFold = {
  initial: undefined as State,
  evolve: (_holder: State, { data: { userId } }: IdentityEvent): State => ({ userId }),
};

/** The first claim wins. It names the user, so that a later login can complete one that a crash interrupted. */
export const claimIdentity = (holder: State, claim: Identity & { userId: string }): IdentityEvent[] =>
  holder ? [] : [{ type: 'IdentityClaimed', data: claim }];
