import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Wallet } from 'ethers';
import { decodeJwt } from 'jose';
import { identityStream } from '../../../../schemas/events/account/identity-events.ts';
import { sessionStream } from '../../../../schemas/events/account/session-events.ts';
import type { Session } from '../../../../schemas/http/account/account-routes.ts';
import { someMetadata } from '../../../../shared/testing/event-builder.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { codeOrStatus } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../../shared/testing/without-appends-to.ts';
import { walletIdentity } from '../../users/domain/identity.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer, sessionOf } from '../../testing/sessions.ts';
import { Unlinkings } from './unlinkings.ts';

const folder = temporaryFolder();
const idOf = (wallet: Wallet) => walletIdentity(wallet.address).identityId;

describe('unlinking an identity', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
  });
  afterAll(() => account.service.close());

  const logIn = (wallet: Wallet, session?: Session) => account.logIn(wallet, { session });
  const unlink = (session: Session, identityId: string, userId = session.userId) =>
    account.ask(`/user/${userId}/identities/${identityId}`, { method: 'DELETE', headers: bearer(session) });
  const isLive = async (session: Session) => {
    account.clock.time += 1_999;
    const outcome = await codeOrStatus(await account.refresh(session.refreshToken));
    expect(['session_revoked', 201]).toContain(outcome);
    return outcome === 201;
  };
  const typesOf = async (stream: string) =>
    (await account.foundation.eventStore.read(stream)).map(({ type, data }) => [type, data['userId']]);

  /** A user with two wallets: a session that began with each, and another one of the second wallet. */
  const twoWallets = async () => {
    const [first, second] = [account.newWallet(), account.newWallet()];
    const withFirst = await logIn(first);
    const linked = await logIn(second, withFirst);
    const withSecond = await logIn(second);
    return { first, second, withFirst, linked, withSecond, userId: withFirst.userId };
  };

  it('ends the sessions that began with it, and no others; it logs in somebody else from then on', async () => {
    const { first, second, withFirst, linked, withSecond, userId } = await twoWallets();
    const answer = await unlink(withFirst, idOf(second));
    expect([answer.status, await answer.text()]).toEqual([204, '']);
    for (const session of [linked, withSecond]) expect(await isLive(session)).toBe(false);
    expect(await isLive(withFirst)).toBe(true);
    const next = await logIn(second);
    expect(next.userId).not.toBe(userId);
    expect((await logIn(first)).userId).toBe(userId);
    expect(await typesOf(identityStream(idOf(second)))).toEqual([
      ['IdentityClaimed', userId],
      ['IdentityReleased', userId],
      ['IdentityClaimed', next.userId],
    ]);
  });

  it('ends the session that asks for it too, if it began with that identity', async () => {
    const { second, withFirst, withSecond } = await twoWallets();
    expect((await unlink(withSecond, idOf(second))).status).toBe(204);
    expect(await isLive(withSecond)).toBe(false);
    expect(await isLive(withFirst)).toBe(true);
  });

  it('is refused for the last one, in parallel too', async () => {
    const { first, second, withFirst, userId } = await twoWallets();
    const outcomes = await Promise.all(
      [first, second].map(async (one) => codeOrStatus(await unlink(withFirst, idOf(one)))),
    );
    expect(outcomes.map(String).sort()).toEqual(['204', 'last_identity']);
    const types = (await typesOf(`user-${userId}`)).map(([type]) => type);
    expect(types.filter((type) => type === 'IdentityUnlinked')).toHaveLength(1);
  });

  it("is refused for another user's, an unknown one, and with an old login; then nothing is stored", async () => {
    const { second, withFirst } = await twoWallets();
    const stranger = account.newWallet();
    const theirs = await logIn(stranger);
    const head = await account.foundation.eventStore.head();
    expect(await codeOrStatus(await unlink(theirs, idOf(second), withFirst.userId))).toBe('forbidden');
    expect(await codeOrStatus(await unlink(withFirst, idOf(stranger)))).toBe('identity_not_found');
    expect(await codeOrStatus(await unlink(withFirst, 'unknown'))).toBe('identity_not_found');
    account.clock.time += 5 * 60_000 + 1;
    expect(await codeOrStatus(await unlink(withFirst, idOf(second)))).toBe('login_too_old');
    expect(await account.foundation.eventStore.head()).toBe(head);
  });

  it.each(['identity-', 'session-'])(
    'is finished after a crash at %s, by another process or a repeat',
    async (prefix) => {
      const { second, withFirst, withSecond, linked, userId } = await twoWallets();
      const crashed = await withoutAppendsTo(prefix, account.foundation, () => unlink(withFirst, idOf(second)));
      expect(await codeOrStatus(crashed)).toBe('internal_error');
      const hasEnded = async () =>
        (await typesOf(sessionStream(decodeJwt(withSecond.accessToken)['sid'] as string))).some(
          ([type]) => type === 'SessionRevoked',
        );
      await eventually(hasEnded, 20_000, 'the session must end, although nobody asks again');
      for (let times = 0; times < 2; times += 1) expect((await unlink(withFirst, idOf(second))).status).toBe(204);
      for (const session of [linked, withSecond]) expect(await isLive(session)).toBe(false);
      expect(await typesOf(identityStream(idOf(second)))).toEqual([
        ['IdentityClaimed', userId],
        ['IdentityReleased', userId],
      ]);
      expect((await typesOf(`user-${userId}`)).filter(([type]) => type === 'IdentityUnlinked')).toHaveLength(1);
    },
  );

  it('leaves alone what somebody else claimed since, although a repeat comes after that', async () => {
    const { second, withFirst } = await twoWallets();
    await withoutAppendsTo('identity-', account.foundation, () => unlink(withFirst, idOf(second)));
    const next = await logIn(second);
    expect((await unlink(withFirst, idOf(second))).status).toBe(204);
    expect((await logIn(second)).userId).toBe(next.userId);
    expect(await isLive(next)).toBe(true);
  });

  it('does not end sessions that began when it was linked again, although it is completed after that', async () => {
    const { second, withFirst, userId } = await twoWallets();
    expect((await unlink(withFirst, idOf(second))).status).toBe(204);
    const again = await logIn(second, withFirst);
    const events = await account.foundation.eventStore.read(`user-${userId}`);
    const { position } = events.find(({ type }) => type === 'IdentityUnlinked') ?? { position: 0 };
    const unlinking = { userId, identityId: idOf(second), claim: 1, position };
    await new Unlinkings(account.transactor).complete(unlinking, someMetadata);
    expect(await isLive(again)).toBe(true);
    expect((await logIn(second)).userId).toBe(userId);
  });

  it('does not let a login survive that was in flight', async () => {
    const { second, withFirst } = await twoWallets();
    const signature = second.signMessageSync((await account.challengeFor(second.address)).message);
    const redeem = () => account.redeem(second.address, signature);
    expect(await codeOrStatus(await withoutAppendsTo('session-', account.foundation, redeem))).toBe('internal_error');
    expect((await unlink(withFirst, idOf(second))).status).toBe(204);
    const repeated = await redeem();
    if (repeated.ok) expect((await sessionOf(repeated)).userId).not.toBe(withFirst.userId);
    else expect(await codeOrStatus(repeated)).toBe('session_revoked');
  });

  it('can be linked again, and unlinked again', async () => {
    const { second, withFirst, userId } = await twoWallets();
    for (let times = 1; times <= 3; times += 1) {
      expect((await unlink(withFirst, idOf(second))).status).toBe(204);
      const again = await logIn(second, withFirst);
      expect(again.userId).toBe(userId);
      expect(await isLive(again)).toBe(true);
    }
  });
});
