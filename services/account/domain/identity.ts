import type { IdentityEvent } from '../../../schemas/events/identity-events.ts';
import type { LoginMethod } from '../../../schemas/values.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';

/** What somebody proved, and whose it is. */
export interface Identity {
  identityId: string;
  method: LoginMethod;
  /** As its owner knows it. */
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

/** Whoever is first holds it. The claim names the user, so that any later login can finish what a crash cut short. */
export const claimIdentity = (holder: State, claim: Identity & { userId: string }): IdentityEvent[] =>
  holder ? [] : [{ type: 'IdentityClaimed', data: claim }];
