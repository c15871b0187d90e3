import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { Session } from '../../../../schemas/http/account/session.ts';
import { sessionList } from '../../../../schemas/http/account/session-routes.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { codeOf } from '../../../../shared/testing/http/problem-of-answer.ts';
import { projectStored } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer } from '../../testing/sessions.ts';

const folder = temporaryFolder();
const idOf = ({ accessToken }: Session) => String(decodeJwt(accessToken)['sid']);

describe('the sessions as of an earlier time', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
  });
  afterAll(() => account.service.close());

  const ask = (session: Session, asOf: string | number) =>
    account.ask(`/auth/sessions?asOf=${String(asOf)}`, { headers: bearer(session) });
  const list = async (session: Session, asOf: string | number) => {
    await projectStored(account.foundation);
    return sessionList.parse(await (await ask(session, asOf)).json()).items;
  };
  const head = () => account.foundation.eventStore.head();
  /** Stores a session from before this test. */
  const begun = async (userId: string, sessionId: string, device: string) => {
    const data = { ...eventExamples.SessionStarted, userId, sessionId, device };
    const event = anEvent({ type: 'SessionStarted', data, time: account.clock.time });
    await account.foundation.eventStore.append(`session-${sessionId}`, -1, [
      await personalDataOf(account.foundation).seal(event),
    ]);
  };
  const end = (session: Session, id: string) =>
    account.ask(`/auth/sessions/${id}`, { method: 'DELETE', headers: bearer(session) });

  it('are those that had not ended, with their devices, the last begun first', async () => {
    const session = await account.logIn(account.newWallet());
    account.clock.time += 1_000;
    await begun(session.userId, 'ses_phone', 'a phone');
    const [then, position] = [toIso(account.clock.time), await head()];
    account.clock.time += 1_000;
    await end(session, 'ses_phone');
    await begun(session.userId, 'ses_later', 'a desk');
    const expected = [
      { id: 'ses_phone', device: 'a phone', createdAt: then, lastUsedAt: null, current: false },
      { id: idOf(session), lastUsedAt: null, current: true },
    ];
    expect(await list(session, then)).toMatchObject(expected);
    expect(await list(session, position)).toMatchObject(expected);
    expect((await list(session, await head())).map(({ id }) => id)).toEqual(['ses_later', idOf(session)]);
    expect((await ask(session, then)).headers.get('x-as-of')).toBe(String(position));
    expect(await list(session, '2020-01-01')).toEqual([]);
    expect(await list(session, 0)).toEqual([]);
  });

  it('lose what they ran on with the key of the user', async () => {
    const session = await account.logIn(account.newWallet());
    await begun(session.userId, 'ses_lost', 'a phone');
    const position = await head();
    await end(session, 'ses_lost');
    await projectStored(account.foundation);
    await personalDataOf(account.foundation).keys.destroyKeysOf(session.userId);
    // A process may use a key that another has destroyed for a minute.
    account.clock.time += 60_001;
    expect(await list(session, position)).toMatchObject([{ id: 'ses_lost', device: null }, { id: idOf(session) }]);
  });

  it('are shown of an app that was revoked since', async () => {
    const app = await account.register();
    const wallet = account.newWallet();
    const first = await account.logIn(wallet, { by: app });
    const own = await account.logIn(wallet);
    const position = await head();
    await account.apps.change(app.id, { revoke: true });
    account.clock.time += 2_000;
    expect((await list(own, position)).map(({ id }) => id).sort()).toEqual([idOf(first), idOf(own)].sort());
    expect((await list(own, await head())).map(({ id }) => id)).toEqual([idOf(own)]);
  });

  it("are the caller's own, and of a third party's app only its own", async () => {
    const theirs = await account.register({ isThirdParty: true });
    const wallet = account.newWallet();
    const own = await account.logIn(wallet);
    const other = await account.logIn(wallet, { by: theirs });
    const stranger = await account.logIn(account.newWallet());
    expect((await list(other, await head())).map(({ id }) => id)).toEqual([idOf(other)]);
    expect((await list(stranger, await head())).map(({ id }) => id)).toEqual([idOf(stranger)]);
    expect(await list(own, await head())).toHaveLength(2);
  });

  it('cannot be asked for as of what has not happened yet', async () => {
    const session = await account.logIn(account.newWallet());
    const later = [toIso(account.clock.time + 1_000), (await head()) + 1, account.clock.time, 'yesterday', ''];
    await projectStored(account.foundation);
    for (const asOf of later) expect(await codeOf(await ask(session, asOf))).toBe('validation_failed');
  });

  it('are not answered before the read model has got that far', async () => {
    const session = await account.logIn(account.newWallet());
    const answer = await ask(session, await head());
    expect(await codeOf(answer)).toBe('not_caught_up');
  });
});
