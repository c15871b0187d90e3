import { describe, expect, it } from '@jest/globals';
import type { StateEvent } from '../../../schemas/events/state-events.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { expectNothingTheSecondTime, given } from '../../../shared/testing/given.ts';
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
const returning: Returning = { method: 'oauth-a', appId: 'app_1', origin: 'https://app.example', sessionId: undefined };
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
    given(loginStateFold, [])
      .when((state) => startLogin(state, NOON, start))
      .then([started()[0]]);
    expectNothingTheSecondTime(loginStateFold, undefined, (state) => startLogin(state, NOON, start), NOON);
  });

  it.each<[string, Partial<Returning>]>([
    ['another app', { appId: 'app_2' }],
    ['another origin', { origin: 'https://two.example' }],
    ['another provider', { method: 'oauth-b' }],
    ['somebody who is signed in', { sessionId: 'ses_1' }],
  ])('is not completed, and not ended, by %s', (_, other) => {
    const open = given(loginStateFold, [started()]);
    open.when(receive({ ...returning, ...other })).refused('state_unknown');
    open.when((state) => denyLogin(state, NOON, { ...returning, ...other })).then([]);
  });

  it('that links is completed by the session that started it alone', () => {
    const open = given(loginStateFold, [started({ linkTo })]);
    open.when(receive()).refused('state_unknown');
    open.when(receive({ ...returning, sessionId: 'ses_2' })).refused('state_unknown');
    open.when(receive({ ...returning, sessionId: 'ses_1' })).then([received()[0]]);
  });

  it('is over at its time, or when it was refused, and does not exist before it starts', () => {
    given(loginStateFold, [started()])
      .when(receive(returning, NOON + 10 * MINUTE))
      .refused('state_unknown');
    given(loginStateFold, [started()])
      .when(receive(returning, NOON + 10 * MINUTE - 1))
      .then([received()[0]]);
    given(loginStateFold, [started(), refused]).when(receive()).refused('state_unknown');
    given(loginStateFold, [started(), refused])
      .when((state) => startLogin(state, NOON, start))
      .then([]);
    given(loginStateFold, []).when(receive()).refused('state_unknown');
    given(loginStateFold, [received()]).when(receive()).refused('state_unknown');
  });

  it('has its code exchanged by one request; by another after six seconds, or when the provider was away', () => {
    const busy = given(loginStateFold, [started(), received()]);
    busy.when(receive(returning, NOON + 6 * SECOND - 1)).refused('state_unknown');
    busy.when(receive(returning, NOON + 6 * SECOND)).then([received()[0]]);
    given(loginStateFold, [started(), received(), returned]).when(receive()).then([received()[0]]);
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
    busy.when((state) => endExchange(state, 'event-1', redeemed[0])).then([]);
    busy.when((state) => endExchange(state, 'event-2', redeemed[0])).then([redeemed[0]]);
    given(loginStateFold, [])
      .when((state) => endExchange(state, 'event-1', redeemed[0]))
      .then([]);
  });

  it('that is redeemed keeps its session, for the same code alone', () => {
    const after = given(loginStateFold, [started(), received(), redeemed, [redeemedAs('ses_3'), NOON]]);
    expect(after.state?.redemption).toMatchObject({ sessionId: 'ses_2', eventId: 'event-2' });
    after.when(receive()).then([]);
    after.when(receive(returning, NOON, 'c2')).refused('state_unknown');
    after.when((state) => denyLogin(state, NOON, returning)).then([]);
    after.when((state) => endExchange(state, 'event-1', redeemedAs('ses_4'))).then([]);
  });

  it('is ended by who started it, but not while a code is exchanged', () => {
    const denied = { type: 'LoginRefused', data: { code: 'oauth_denied' } } as const;
    given(loginStateFold, [started()])
      .when((state) => denyLogin(state, NOON, returning))
      .then([denied]);
    given(loginStateFold, [started(), received()])
      .when((state) => denyLogin(state, NOON, returning))
      .then([]);
    given(loginStateFold, [])
      .when((state) => denyLogin(state, NOON, returning))
      .then([]);
  });
});

describe('a login that goes through the bot', () => {
  const issue = (state: State) => issueCode(state, NOON, proof);
  const redeem =
    (by = atBot, codeHash = 'c1') =>
    (state: State) =>
      redeemIssuedCode(state, NOON, by, { codeHash, sessionId: 'ses_2' });

  it('gives its code to the first who opens the bot with its state, again too, and to nobody else', () => {
    given(loginStateFold, [startedAtBot]).when(issue).then([issued[0]]);
    const after = given(loginStateFold, [startedAtBot, issued]);
    after.when(issue).then([]);
    after.when((state) => issueCode(state, NOON, { ...proof, codeHash: 'c2' })).refused('state_unknown');
    const twice = given(loginStateFold, [
      startedAtBot,
      issued,
      [{ type: 'LoginCodeIssued', data: { ...proof, codeHash: 'c2' } }, NOON],
    ]);
    expect(twice.state?.issued).toEqual(proof);
  });

  it('gives none for a state of a provider, that is over, used or not known', () => {
    given(loginStateFold, [started()]).when(issue).refused('state_unknown');
    given(loginStateFold, []).when(issue).refused('state_unknown');
    given(loginStateFold, [startedAtBot, issued, redeemed]).when(issue).refused('state_unknown');
    given(loginStateFold, [startedAtBot])
      .when((state) => issueCode(state, NOON + 10 * MINUTE, proof))
      .refused('state_unknown');
  });

  it('is redeemed once, with the code that was issued, by who started it', () => {
    const open = given(loginStateFold, [startedAtBot, issued]);
    open.when(redeem()).then([redeemed[0]]);
    open.when(redeem(atBot, 'c2')).refused('state_unknown');
    open.when(redeem({ ...atBot, appId: 'app_2' })).refused('state_unknown');
    open.when(redeem({ ...atBot, sessionId: 'ses_1' })).refused('state_unknown');
    given(loginStateFold, [startedAtBot]).when(redeem()).refused('state_unknown');
    given(loginStateFold, [startedAtBot, issued, redeemed]).when(redeem()).then([]);
  });
});
