import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Wallet } from 'ethers';
import { decodeJwt } from 'jose';
import { identityStream } from '../../../schemas/events/identity-events.ts';
import { sessionStream } from '../../../schemas/events/session-events.ts';
import type { Session } from '../../../schemas/http/account-routes.ts';
import { someMetadata } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { problemOfAnswer } from '../../../shared/testing/problem-of-answer.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { walletIdentity } from '../domain/identity.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../testing/account-under-test.ethers.ts';
import { Unlinkings } from './unlinkings.ts';

const folder = temporaryFolder();
const codeOf = async (answer: Response) => (answer.ok ? answer.status : (await problemOfAnswer(answer)).code);
const idOf = (wallet: Wallet) => walletIdentity(wallet.address).identityId;

describe('unlinking an identity', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
  });
  afterAll(() => account.service.close());

  const logIn = async (wallet: Wallet, session?: Session) => {
    const signature = wallet.signMessageSync((await account.challengeFor(wallet.address)).message);
    const headers = { ...account.appHeaders(), ...(session && bearer(session)) };
    const answer = await account.redeem(wallet.address, signature, headers);
    expect(answer.status).toBe(201);
    return (await answer.json()) as Session;
  };
  const bearer = ({ accessToken }: Session) => ({ authorization: `Bearer ${accessToken}` });
  const unlink = (session: Session, identityId: string, userId = session.userId) =>
    account.ask(`/user/${userId}/identities/${identityId}`, { method: 'DELETE', headers: bearer(session) });
  const isLive = async (session: Session) => {
    account.clock.time += 1_999;
    const outcome = await codeOf(await account.refresh(session.refreshToken));
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
  /** Fails the appends to these streams, as if the process had crashed there. */
  const withoutAppendsTo = async (prefix: string, work: () => Promise<void>) => {
    const { eventStore } = account.foundation;
    const append = eventStore.append.bind(eventStore);
    eventStore.append = (stream, ...rest) =>
      stream.startsWith(prefix) ? Promise.reject(new Error('planned crash')) : append(stream, ...rest);
    await work();
    eventStore.append = append;
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
    const outcomes = await Promise.all([first, second].map(async (one) => codeOf(await unlink(withFirst, idOf(one)))));
    expect(outcomes.map(String).sort()).toEqual(['204', 'last_identity']);
    const types = (await typesOf(`user-${userId}`)).map(([type]) => type);
    expect(types.filter((type) => type === 'IdentityUnlinked')).toHaveLength(1);
  });

  it("is refused for another user's, an unknown one, and with an old login; then nothing is stored", async () => {
    const { second, withFirst } = await twoWallets();
    const stranger = account.newWallet();
    const theirs = await logIn(stranger);
    const head = await account.foundation.eventStore.head();
    expect(await codeOf(await unlink(theirs, idOf(second), withFirst.userId))).toBe('forbidden');
    expect(await codeOf(await unlink(withFirst, idOf(stranger)))).toBe('identity_not_found');
    expect(await codeOf(await unlink(withFirst, 'unknown'))).toBe('identity_not_found');
    account.clock.time += 5 * 60_000 + 1;
    expect(await codeOf(await unlink(withFirst, idOf(second)))).toBe('login_too_old');
    expect(await account.foundation.eventStore.head()).toBe(head);
  });

  it.each(['identity-', 'session-'])(
    'is finished after a crash at %s, by another process or a repeat',
    async (prefix) => {
      const { second, withFirst, withSecond, linked, userId } = await twoWallets();
      await withoutAppendsTo(prefix, async () => {
        expect(await codeOf(await unlink(withFirst, idOf(second)))).toBe('internal_error');
      });
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
    await withoutAppendsTo('identity-', async () => {
      await unlink(withFirst, idOf(second));
    });
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
    await withoutAppendsTo('session-', async () => {
      expect(await codeOf(await account.redeem(second.address, signature))).toBe('internal_error');
    });
    expect((await unlink(withFirst, idOf(second))).status).toBe(204);
    const repeated = await account.redeem(second.address, signature);
    if (repeated.ok) expect(((await repeated.json()) as Session).userId).not.toBe(withFirst.userId);
    else expect(await codeOf(repeated)).toBe('session_revoked');
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
