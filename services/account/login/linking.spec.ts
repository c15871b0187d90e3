import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Wallet } from 'ethers';
import { identityStream } from '../../../schemas/events/account/identity-events.ts';
import type { Session } from '../../../schemas/http/account/account-routes.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { codeOf } from '../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../shared/testing/without-appends-to.ts';
import { walletIdentity } from '../users/domain/identity.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../testing/account-under-test.ethers.ts';
import { bearer, sessionOf } from '../testing/sessions.ts';

const folder = temporaryFolder();

describe('linking a wallet', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
  });
  afterAll(() => account.service.close());

  /** Logs in with a wallet; with a session, it asks to link the wallet to its user. */
  const logIn = async (wallet: Wallet, session?: Session, signature?: string): Promise<Response> => {
    const signed = signature ?? wallet.signMessageSync((await account.challengeFor(wallet.address)).message);
    const headers = { ...account.appHeaders(), ...(session && bearer(session)) };
    return account.redeem(wallet.address, signed, headers);
  };
  const typesOf = async (stream: string) =>
    (await account.foundation.eventStore.read(stream)).map(({ type, data }) => [type, data['userId']]);
  const streamOf = (wallet: { address: string }) => identityStream(walletIdentity(wallet.address).identityId);

  it('gives the user a second way to log in, and answers a new session', async () => {
    const [first, second] = [account.newWallet(), account.newWallet()];
    const session = await account.logIn(first);
    const linked = await sessionOf(await logIn(second, session));
    expect(linked.userId).toBe(session.userId);
    expect((await sessionOf(await logIn(second))).userId).toBe(session.userId);
    expect((await sessionOf(await logIn(first))).userId).toBe(session.userId);
    expect((await typesOf(`user-${session.userId}`)).map(([type]) => type)).toEqual([
      'UserRegistered',
      'IdentityLinked',
      'UserLoggedIn',
      'IdentityLinked',
      'UserLoggedIn',
      'UserLoggedIn',
      'UserLoggedIn',
    ]);
  });

  it('refuses a wallet of another user, and leaves both as they were', async () => {
    const [mine, theirs] = [account.newWallet(), account.newWallet()];
    const session = await account.logIn(mine);
    const other = await account.logIn(theirs);
    expect(await codeOf(await logIn(theirs, session))).toBe('identity_taken');
    expect((await sessionOf(await logIn(theirs))).userId).toBe(other.userId);
    expect((await typesOf(`user-${session.userId}`)).map(([type]) => type)).not.toContain('IdentityUnlinked');
  });

  it('needs a login of the last five minutes, which a refresh is not, and a refusal uses up nothing', async () => {
    const [mine, second] = [account.newWallet(), account.newWallet()];
    const old = await account.logIn(mine);
    account.clock.time += 5 * 60_000;
    await sessionOf(await logIn(account.newWallet(), old));
    account.clock.time += 1;
    const refreshed = await sessionOf(await account.refresh(old.refreshToken));
    const signature = second.signMessageSync((await account.challengeFor(second.address)).message);
    expect(await codeOf(await logIn(second, refreshed, signature))).toBe('login_too_old');
    expect((await sessionOf(await logIn(second, await account.logIn(mine), signature))).userId).toBe(old.userId);
  });

  it('that is linked already is a plain login, however old the session is', async () => {
    const wallet = account.newWallet();
    const session = await account.logIn(wallet);
    account.clock.time += 6 * 60_000;
    expect((await sessionOf(await logIn(wallet, session))).userId).toBe(session.userId);
  });

  it('is completed by the same user only, by who repeats it after a crash', async () => {
    const [mine, second] = [account.newWallet(), account.newWallet()];
    const session = await account.logIn(mine);
    const signature = second.signMessageSync((await account.challengeFor(second.address)).message);
    const crashed = await withoutAppendsTo('identity-', account.foundation, () => logIn(second, session, signature));
    expect(await codeOf(crashed)).toBe('internal_error');
    expect(await codeOf(await logIn(second, undefined, signature))).toBe('challenge_unknown');
    const stranger = await account.logIn(account.newWallet());
    expect(await codeOf(await logIn(second, stranger, signature))).toBe('challenge_unknown');
    expect((await sessionOf(await logIn(second, session, signature))).userId).toBe(session.userId);
    expect(await codeOf(await logIn(second, session, signature))).toBe('challenge_unknown');
  });

  it('goes to somebody else once it was unlinked, although a crash kept it from being released', async () => {
    const wallet = account.newWallet();
    const { userId } = await account.logIn(wallet);
    const { identityId, method } = walletIdentity(wallet.address);
    const { eventStore } = account.foundation;
    const events = await eventStore.read(`user-${userId}`);
    const unlinked = anEvent({ type: 'IdentityUnlinked', data: { userId, identityId, method, claim: 1 } });
    await eventStore.append(`user-${userId}`, events.length - 1, [unlinked]);
    const next = await sessionOf(await logIn(wallet));
    expect(next.userId).toMatch(/^usr_/);
    expect(await typesOf(streamOf(wallet))).toEqual([
      ['IdentityClaimed', userId],
      ['IdentityReleased', userId],
      ['IdentityClaimed', next.userId],
    ]);
    expect((await sessionOf(await logIn(wallet))).userId).toBe(next.userId);
  });

  it('of a user who was erased makes a new user, also for a link', async () => {
    const wallet = account.newWallet();
    const { userId } = await account.logIn(wallet);
    const { eventStore } = account.foundation;
    const events = await eventStore.read(`user-${userId}`);
    await eventStore.append(`user-${userId}`, events.length - 1, [anEvent({ type: 'UserErased', data: { userId } })]);
    const session = await account.logIn(account.newWallet());
    expect((await sessionOf(await logIn(wallet, session))).userId).toBe(session.userId);
  });
});
