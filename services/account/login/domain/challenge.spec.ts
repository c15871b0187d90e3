import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ChallengeEvent } from '../../../../schemas/events/account/challenge-events.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { expectNothingTheSecondTime, given, refusalBy } from '../../../../shared/testing/given.ts';
import { challengeFold, challengeStream, issueChallenge, redeemChallenge, signable } from './challenge.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const MINUTE = 60_000;
const request = {
  appId: 'app_1',
  signer: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  origin: 'https://app.example',
  chainId: 1,
};

const issued = (nonce: string, at = NOON, client = 'mine', network = client): [ChallengeEvent, number] => [
  {
    type: 'ChallengeIssued',
    data: { ...request, client, network, nonce, issuedAt: toIso(at), expiresAt: toIso(at + 5 * MINUTE) },
  },
  at,
];
const redeemed = (nonce: string, sessionId = 'ses_1', at = NOON, by?: 'contract'): [ChallengeEvent, number] => [
  { type: 'ChallengeRedeemed', data: { nonce, sessionId, ...(by && { by }) } },
  at,
];
const elevenIssued = Array.from({ length: 11 }, (_, at) => issued(`nonce${String(at)}`, NOON + at));
const redeem = (nonce: string, nowMs = NOON, sessionId = 'ses_1') => ({
  nonce,
  decide: (state: typeof challengeFold.initial) => redeemChallenge(state, nowMs, { nonce, sessionId }),
});

describe('a challenge', () => {
  it('is valid for five minutes', () => {
    given(challengeFold, []).decides(
      (state) => issueChallenge(state, NOON, { ...request, client: 'mine', network: 'mine', nonce: 'a' }),
      [issued('a')[0]],
    );
  });

  it('is issued although another one is open', () => {
    given(challengeFold, [issued('a')]).decides(
      (state) => issueChallenge(state, NOON, { ...request, client: 'mine', network: 'mine', nonce: 'b' }),
      [issued('b')[0]],
    );
  });

  it('is in the same stream as the others of its signer and app, in whatever case the address is written', () => {
    const stream = 'challenge-772a01fbf4684552dd1d234e7578066721773516877ea84a52bbfd6710af0a77';
    expect(challengeStream('app_1', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8')).toBe(stream);
    expect(challengeStream('app_1', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8')).toBe(stream);
    expect(challengeStream('app_2', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8')).not.toBe(stream);
  });

  it('can be redeemed while it is open', () => {
    given(challengeFold, [issued('a')]).decides(redeem('a').decide, [redeemed('a')[0]]);
    given(challengeFold, [issued('a')]).decides(redeem('a', NOON + 5 * MINUTE - 1).decide, [redeemed('a')[0]]);
  });

  it('cannot be redeemed after five minutes', () => {
    given(challengeFold, [issued('a')]).refuses(
      redeem('a', NOON + 5 * MINUTE).decide,
      'challenge_unknown',
      /ask for a challenge/,
    );
  });

  it('that does not exist is refused as wallet_signature_invalid if another is open, else as challenge_unknown', () => {
    const { refuses } = given(challengeFold, [issued('a'), issued('b'), redeemed('a')]);
    refuses(redeem('c').decide, 'wallet_signature_invalid', /fits no open challenge/);
    given(challengeFold, [issued('a'), redeemed('a')]).refuses(redeem('c').decide, 'challenge_unknown');
  });

  it('is dropped from the state if it has expired when a newer one is issued', () => {
    const { state } = given(challengeFold, [issued('a'), issued('b', NOON + 5 * MINUTE)]);
    expect(state.map(({ nonce }) => nonce)).toEqual(['b']);
  });

  it('is looked for among those that are open, newest first, and the five that were redeemed last', () => {
    const nonces = Array.from({ length: 9 }, (_, at) => `nonce${String(at)}`);
    const history = [...nonces.map((nonce) => issued(nonce)), ...nonces.slice(1, 8).map((nonce) => redeemed(nonce))];
    const { state } = given(challengeFold, history);
    const { origin } = request;
    const tried = (nowMs: number) =>
      signable(state, nowMs, { origin, client: 'mine', nonce: undefined }).forKey.map(({ nonce }) => nonce);
    expect(tried(NOON)).toEqual(['nonce8', 'nonce0', 'nonce7', 'nonce6', 'nonce5', 'nonce4', 'nonce3']);
    expect(tried(NOON + 5 * MINUTE)).toEqual([]);
  });

  it('keeps the session for which it was redeemed first', () => {
    const { state, decides } = given(challengeFold, [issued('a'), redeemed('a', 'ses_1')]);
    decides(redeem('a', NOON, 'ses_2').decide, []);
    expect(state[0]?.redemption?.sessionId).toBe('ses_1');
  });

  it('is closed when ten newer ones are open', () => {
    const { decides, refuses } = given(challengeFold, elevenIssued);
    refuses(redeem('nonce0').decide, 'wallet_signature_invalid');
    decides(redeem('nonce1').decide, [redeemed('nonce1')[0]]);
  });

  it('is not closed by ten newer ones if one of those is redeemed', () => {
    const history = [...elevenIssued.slice(0, 10), redeemed('nonce5'), ...elevenIssued.slice(10)];
    given(challengeFold, history).decides(redeem('nonce0').decide, [redeemed('nonce0')[0]]);
  });

  it('is not closed by ten of other clients', () => {
    const theirs = Array.from({ length: 10 }, (_, at) => issued(`their${String(at)}`, NOON + at, 'theirs'));
    given(challengeFold, [issued('a'), ...theirs]).decides(redeem('a').decide, [redeemed('a')[0]]);
    given(challengeFold, [issued('a'), ...theirs, issued('their10', NOON + 10, 'theirs')]).refuses(
      redeem('their0').decide,
      'wallet_signature_invalid',
    );
  });

  describe('of which a hundred are open', () => {
    type State = typeof challengeFold.initial;
    const issue = (client: string, { network = client, at = NOON + 1_000 } = {}) => ({
      decide: (state: State) => issueChallenge(state, at, { ...request, client, network, nonce: 'new' }),
      event: issued('new', at, client, network)[0],
    });
    const ofClients = (clients: number, each: number, network?: string) =>
      Array.from({ length: clients * each }, (_, at) =>
        issued(`n${String(at)}`, NOON + at, `client${String(at % clients)}`, network),
      );
    const openOf = (state: State, client: string) =>
      state.filter((challenge) => challenge.client === client).map(({ nonce }) => nonce);
    const fifty = ofClients(5, 10);

    it('is refused to nobody for what ten addresses ask for, however often', () => {
      const { decides, state } = given(challengeFold, ofClients(10, 30));
      expect(state.length).toBeLessThanOrEqual(60);
      decides(issue('mine').decide, [issue('mine').event]);
    });

    it('replaces the only one of its client once fifty are open, and closes none of another', () => {
      const { decides, state } = given(challengeFold, [...fifty, issued('a', NOON + 99), issued('b', NOON + 100)]);
      expect(openOf(state, 'mine')).toEqual(['b']);
      expect(state).toHaveLength(51);
      decides(redeem('n0').decide, [redeemed('n0')[0]]);
    });

    it('is refused to a client whose network has one, once fifty are open, and to no other network', () => {
      const { decides, refuses, state } = given(challengeFold, ofClients(5, 10, '/48'));
      refuses(issue('mine', { network: '/48' }).decide, 'rate_limited', /50 open/);
      expect(refusalBy(() => issue('mine', { network: '/48' }).decide(state)).retryAfter).toBe(299);
      decides(issue('client0', { network: '/48' }).decide, [issue('client0', { network: '/48' }).event]);
      decides(issue('mine').decide, [issue('mine').event]);
    });

    it('is refused to a client that has none, until one of those that are open ends', () => {
      const single = Array.from({ length: 50 }, (_, at) => issued(`s${String(at)}`, NOON + 50 + at, `s${String(at)}`));
      const { decides, refuses, state } = given(challengeFold, [...fifty, ...single]);
      refuses(issue('mine').decide, 'rate_limited', /100 open/);
      expect(refusalBy(() => issue('mine').decide(state)).retryAfter).toBe(299);
      const later = { at: NOON + 5 * MINUTE };
      decides(issue('mine', later).decide, [issue('mine', later).event]);
      const after = given(challengeFold, [...fifty, ...single, issued('new', NOON + 1_000, 's3')]).state;
      expect(openOf(after, 's3')).toEqual(['new']);
      expect(after).toHaveLength(100);
    });
  });

  it('is looked for among those of all clients for a key, of the own client or by its nonce for a contract', () => {
    const { state } = given(challengeFold, [
      ...[issued('a'), issued('b', NOON, 'theirs'), issued('c'), issued('d', NOON, 'theirs'), redeemed('c')],
      ...[issued('e'), redeemed('e', 'ses_2', NOON, 'contract'), issued('f', NOON, 'theirs')],
      redeemed('f', 'ses_3', NOON, 'contract'),
    ]);
    const tried = (nonce?: string, origin = request.origin) => {
      const { forKey, forContract } = signable(state, NOON, { origin, client: 'mine', nonce });
      return [forKey, forContract].map((challenges) => challenges.map((one) => one.nonce).join(''));
    };
    expect(tried()).toEqual(['dbafec', 'ae']);
    expect(tried('b')).toEqual(['b', 'b']);
    expect(tried('c')).toEqual(['c', '']);
    expect(tried('f')).toEqual(['f', 'f']);
    expect(tried('z')).toEqual(['', '']);
    expect(tried('b', 'https://other.example')).toEqual(['', '']);
  });

  it('is not open where it was issued before the clock went back', () => {
    const later = Array.from({ length: 100 }, (_, at) =>
      issued(`n${String(at)}`, NOON + 60 * MINUTE, `c${String(at)}`),
    );
    const { decides, refuses } = given(challengeFold, later);
    refuses(redeem('n0').decide, 'challenge_unknown');
    decides(
      (state) => issueChallenge(state, NOON, { ...request, client: 'mine', network: 'mine', nonce: 'a' }),
      [issued('a')[0]],
    );
  });

  it('is folded correctly when older events of the stream were deleted', () => {
    given(challengeFold, [redeemed('forgotten'), issued('a')]).decides(redeem('a').decide, [redeemed('a')[0]]);
  });

  it('is neither issued nor redeemed twice, whatever the history', () => {
    const nonce = fc.constantFrom('a', 'b', 'c');
    const history = fc.array(
      fc.oneof(
        fc.tuple(nonce, fc.nat(10 * MINUTE)).map(([one, after]) => issued(one, NOON + after)),
        nonce.map((one) => redeemed(one)),
      ),
    );
    fc.assert(
      fc.property(history, nonce, fc.nat(10 * MINUTE), (events, one, after) => {
        const { state } = given(challengeFold, events);
        const nowMs = NOON + after;
        const issue = (before: typeof state) => issueChallenge(before, nowMs, { ...request, nonce: one });
        expectNothingTheSecondTime(challengeFold, state, issue, nowMs);
        const { state: open } = given(challengeFold, [...events, issued('d', nowMs)]);
        expectNothingTheSecondTime(challengeFold, open, redeem('d', nowMs).decide, nowMs);
      }),
    );
  });

  it('is one of at most ten that are open', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(MINUTE), { maxLength: 40 }), (gaps) => {
        let at = NOON;
        const events = gaps.map((gap, index) => issued(String(index), (at += gap)));
        const { state } = given(challengeFold, events);
        expect(state.filter(({ redemption }) => redemption === undefined).length).toBeLessThanOrEqual(10);
      }),
    );
  });
});
