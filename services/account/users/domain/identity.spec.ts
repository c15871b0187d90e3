import { describe, expect, it } from '@jest/globals';
import { identityStream, type IdentityEvent } from '../../../../schemas/events/account/identity-events.ts';
import { given } from '../../../../shared/testing/given.ts';
import {
  claimIdentity,
  contractAccount,
  contractIdentity,
  identityFold,
  releaseIdentity,
  walletIdentity,
} from './identity.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const wallet = walletIdentity('0x70997970C51812dc3A010C7d01b50e0d17dc79C8');
const claim = { ...wallet, userId: 'usr_1' };
const claimed: IdentityEvent = { type: 'IdentityClaimed', data: claim };
const released: IdentityEvent = {
  type: 'IdentityReleased',
  data: { identityId: wallet.identityId, userId: 'usr_1' },
};
const at = (...events: IdentityEvent[]): [IdentityEvent, number][] => events.map((event) => [event, NOON]);

describe('an identity', () => {
  it('belongs to the user who claims it first', () => {
    given(identityFold, []).decides(
      (holder) => claimIdentity(holder, claim),
      [{ type: 'IdentityClaimed', data: claim }],
    );
    const { state, decides } = given(identityFold, at(claimed));
    decides((holder) => claimIdentity(holder, { ...claim, userId: 'usr_2' }), []);
    expect(state).toEqual({ userId: 'usr_1', claims: 1 });
  });

  it('is released once, and may be claimed by another user then', () => {
    const { identityId } = wallet;
    given(identityFold, at(claimed)).decides((holder) => releaseIdentity(holder, { identityId, claim: 1 }), [released]);
    const { state, decides } = given(identityFold, at(claimed, released));
    expect(state).toEqual({ userId: undefined, claims: 1 });
    decides((holder) => releaseIdentity(holder, { identityId, claim: 1 }), []);
    const byAnother = { ...claim, userId: 'usr_2' };
    decides((holder) => claimIdentity(holder, byAnother), [{ type: 'IdentityClaimed', data: byAnother }]);
  });

  it('is not released by who means an earlier claim', () => {
    const again: IdentityEvent = { type: 'IdentityClaimed', data: { ...claim, userId: 'usr_2' } };
    given(identityFold, at(claimed, released, again)).decides(
      (holder) => releaseIdentity(holder, { identityId: wallet.identityId, claim: 1 }),
      [],
    );
  });

  it('of a wallet has an id that ignores the case of the address and must never change', () => {
    const identityId = '7eaadf1989ccf0de8d49bd96d97f3677db8342952910f4ac0bf91f6f5f34f679';
    const label = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    expect(wallet).toEqual({ identityId, method: 'wallet', label });
    expect(walletIdentity(wallet.label.toLowerCase()).identityId).toBe(identityId);
    expect(identityStream(identityId)).toBe(`identity-${identityId}`);
  });

  it('of a contract is of one chain, and ignores the case of the address', () => {
    const signer = wallet.label;
    const account = 'eip155:10:0x70997970c51812dc3a010c7d01b50e0d17dc79c8';
    expect(contractAccount(signer, 10)).toBe(account);
    expect(contractAccount(signer.toLowerCase(), 10)).toBe(account);
    expect(contractIdentity({ identityId: 'keyed', signer, chainId: 10 })).toEqual({
      identityId: 'keyed',
      method: 'wallet',
      label: `eip155:10:${signer}`,
    });
  });
});
