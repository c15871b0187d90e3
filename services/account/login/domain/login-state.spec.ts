import { describe, expect, it } from '@jest/globals';
import type { StateEvent } from '../../../../schemas/events/account/state-events.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { expectNothingTheSecondTime, given } from '../../../../shared/testing/given.ts';
import {
  denyLogin,
  endExchange,
  issueCode,
  loginStateFold,
  loginStateStream,
  receiveCode,
  redeemIssuedCode,
  startLogin,
  type Returning,
} from './login-state.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const start = {
  method: 'oauth-a' as const,
  appId: 'app_1',
  origin: 'https://app.example',
  redirectUri: 'https://app.example/callback',
  sealedSecrets: 'sealed',
};
const linkTo = { userId: 'usr_1', sessionId: 'ses_1' };
const returning: Returning = { method: 'oauth-a', appId: 'app_1', origin: 'https://app.example', user: undefined };
const atBot: Returning = { ...returning, method: 'messenger' };
const proof = { codeHash: 'c1', identityId: 'i1', sealedLabel: 'sealed' };

const started = (more: Partial<Extract<StateEvent, { type: 'LoginStarted' }>['data']> = {}): [StateEvent, number] => [
  { type: 'LoginStarted', data: { ...start, expiresAt: toIso(NOON + 10 * MINUTE), ...more } },
  NOON,
];
const startedAtBot = started({ method: 'messenger' });
const received = (at = NOON, codeHash = 'c1'): [StateEvent, number] => [
  { type: 'LoginCodeReceived', data: { codeHash } },
  at,
];
const returned: [StateEvent, number] = [{ type: 'LoginCodeReturned', data: { codeHash: 'c1' } }, NOON];
const issued: [StateEvent, number] = [{ type: 'LoginCodeIssued', data: proof }, NOON];
const redeemedAs = (sessionId: string): StateEvent => ({ type: 'LoginRedeemed', data: { ...proof, sessionId } });
const redeemed: [StateEvent, number] = [redeemedAs('ses_2'), NOON];
const refused: [StateEvent, number] = [{ type: 'LoginRefused', data: { code: 'oauth_failed' } }, NOON];

type State = typeof loginStateFold.initial;
const receive =
  (by = returning, nowMs = NOON, codeHash = 'c1') =>
  (state: State) =>
    receiveCode(state, nowMs, by, codeHash);

describe('a login that goes through another site', () => {
  it('has a stream that does not name its state, and is valid for ten minutes', () => {
    expect(loginStateStream('abc')).toMatch(/^state-[0-9a-f]{64}$/);
    given(loginStateFold, []).decides((state) => startLogin(state, NOON, start), [started()[0]]);
    expectNothingTheSecondTime(loginStateFold, undefined, (state) => startLogin(state, NOON, start), NOON);
  });

  it.each<[string, Partial<Returning>]>([
    ['another app', { appId: 'app_2' }],
    ['another origin', { origin: 'https://two.example' }],
    ['another provider', { method: 'oauth-b' }],
    ['somebody who is signed in', { user: linkTo }],
  ])('is not completed, and not ended, by %s', (_, other) => {
    const open = given(loginStateFold, [started()]);
    open.refuses(receive({ ...returning, ...other }), 'state_unknown');
    open.decides((state) => denyLogin(state, NOON, { ...returning, ...other }), []);
  });

  it('that links is completed by the session that started it alone', () => {
    const open = given(loginStateFold, [started({ linkTo })]);
    open.refuses(receive(), 'state_unknown');
    open.refuses(receive({ ...returning, user: { ...linkTo, sessionId: 'ses_2' } }), 'state_unknown');
    open.decides(receive({ ...returning, user: linkTo }), [received()[0]]);
  });

  it('is over at its time, or when it was refused, and does not exist before it starts', () => {
    given(loginStateFold, [started()]).refuses(receive(returning, NOON + 10 * MINUTE), 'state_unknown');
    given(loginStateFold, [started()]).decides(receive(returning, NOON + 10 * MINUTE - 1), [received()[0]]);
    given(loginStateFold, [started(), refused]).refuses(receive(), 'state_unknown');
    given(loginStateFold, [started(), refused]).decides((state) => startLogin(state, NOON, start), []);
    given(loginStateFold, []).refuses(receive(), 'state_unknown');
    given(loginStateFold, [received()]).refuses(receive(), 'state_unknown');
  });

  it('has its code exchanged by one request; by another after six seconds, or when the provider was away', () => {
    const busy = given(loginStateFold, [started(), received()]);
    busy.refuses(receive(returning, NOON + 6 * SECOND - 1), 'state_unknown');
    busy.decides(receive(returning, NOON + 6 * SECOND), [received()[0]]);
    given(loginStateFold, [started(), received(), returned]).decides(receive(), [received()[0]]);
  });

  it('takes the first of two codes that were stored at once', () => {
    expect(given(loginStateFold, [started(), received(NOON, 'c1'), received(NOON + 1, 'c2')]).state?.exchange).toEqual({
      codeHash: 'c1',
      eventId: 'event-1',
      since: NOON,
    });
  });

  it('is redeemed by the exchange that is under way, and by none that it was taken from', () => {
    const busy = given(loginStateFold, [started(), received(), received(NOON + 6 * SECOND)]);
    busy.decides((state) => endExchange(state, 'event-1', redeemed[0]), []);
    busy.decides((state) => endExchange(state, 'event-2', redeemed[0]), [redeemed[0]]);
    given(loginStateFold, []).decides((state) => endExchange(state, 'event-1', redeemed[0]), []);
  });

  it('that is redeemed keeps its session, for the same code alone', () => {
    const after = given(loginStateFold, [started(), received(), redeemed, [redeemedAs('ses_3'), NOON]]);
    expect(after.state?.redemption).toMatchObject({ sessionId: 'ses_2', eventId: 'event-2' });
    after.decides(receive(), []);
    after.refuses(receive(returning, NOON, 'c2'), 'state_unknown');
    after.decides((state) => denyLogin(state, NOON, returning), []);
    after.decides((state) => endExchange(state, 'event-1', redeemedAs('ses_4')), []);
  });

  it('is ended by who started it, but not while a code is exchanged', () => {
    const denied = { type: 'LoginRefused', data: { code: 'oauth_denied' } } as const;
    given(loginStateFold, [started()]).decides((state) => denyLogin(state, NOON, returning), [denied]);
    given(loginStateFold, [started(), received()]).decides((state) => denyLogin(state, NOON, returning), []);
    given(loginStateFold, []).decides((state) => denyLogin(state, NOON, returning), []);
  });
});

describe('a login that goes through the bot', () => {
  const issue = (state: State) => issueCode(state, NOON, proof);
  const redeem =
    (by = atBot, codeHash = 'c1') =>
    (state: State) =>
      redeemIssuedCode(state, NOON, by, { codeHash, sessionId: 'ses_2' });

  it('gives its code to the first who opens the bot with its state, again too, and to nobody else', () => {
    given(loginStateFold, [startedAtBot]).decides(issue, [issued[0]]);
    const after = given(loginStateFold, [startedAtBot, issued]);
    after.decides(issue, []);
    after.refuses((state) => issueCode(state, NOON, { ...proof, codeHash: 'c2' }), 'state_unknown');
    const twice = given(loginStateFold, [
      startedAtBot,
      issued,
      [{ type: 'LoginCodeIssued', data: { ...proof, codeHash: 'c2' } }, NOON],
    ]);
    expect(twice.state?.issued).toEqual(proof);
  });

  it('gives none for a state of a provider, that is over, used or not known', () => {
    given(loginStateFold, [started()]).refuses(issue, 'state_unknown');
    given(loginStateFold, []).refuses(issue, 'state_unknown');
    given(loginStateFold, [startedAtBot, issued, redeemed]).refuses(issue, 'state_unknown');
    given(loginStateFold, [startedAtBot]).refuses(
      (state) => issueCode(state, NOON + 10 * MINUTE, proof),
      'state_unknown',
    );
  });

  it('is redeemed once, with the code that was issued, by who started it', () => {
    const open = given(loginStateFold, [startedAtBot, issued]);
    open.decides(redeem(), [redeemed[0]]);
    open.refuses(redeem(atBot, 'c2'), 'state_unknown');
    open.refuses(redeem({ ...atBot, appId: 'app_2' }), 'state_unknown');
    open.refuses(redeem({ ...atBot, user: linkTo }), 'state_unknown');
    given(loginStateFold, [startedAtBot]).refuses(redeem(), 'state_unknown');
    given(loginStateFold, [startedAtBot, issued, redeemed]).decides(redeem(), []);
  });
});
