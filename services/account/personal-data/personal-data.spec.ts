import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { heldSection, personalData, type HeldSection } from '../../../schemas/http/account/personal-data.ts';
import type { Session } from '../../../schemas/http/account/session.ts';
import { historyModel } from '../../../shared/read-models/account/history.ts';
import { readModels } from '../../../shared/read-models/catalogue.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { codeOf } from '../../../shared/testing/http/problem-of-answer.ts';
import { projectStored } from '../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import type { RegisteredApp } from '../apps/register-app/register-app.handler.ts';
import { oneTimePasswordStream } from '../login/domain/one-time-password.ts';
import { ORIGIN, startAccountUnderTest, type AccountUnderTest } from '../testing/account-under-test.ethers.ts';
import { emailCalls } from '../testing/one-time-passwords.ts';
import { passkeyCalls } from '../testing/passkey-calls.ts';
import { bearer, sessionOf } from '../testing/sessions.ts';
import { SoftwareAuthenticator } from '../testing/software-authenticator.ts';

const folder = temporaryFolder();
const MINUTE = 60_000;
type Named<Name extends HeldSection['name']> = Extract<HeldSection, { name: Name }>;

let account: AccountUnderTest;
let emails: ReturnType<typeof emailCalls>;
beforeAll(async () => {
  account = await startAccountUnderTest(folder);
  emails = emailCalls(account);
});
afterAll(() => account.service.close());

/** Logs in by email. @param by default: the app of all specs */
const logInBy = async (email: string, by?: RegisteredApp): Promise<Session> => {
  const headers = by ? account.appHeaders({}, by) : {};
  return sessionOf(await emails.verify(email, await emails.requested(email, headers), headers));
};
const post = async (session: Session, path: string, body: object): Promise<Response> => {
  const options = { method: 'POST', headers: bearer(session), body };
  const answer = await account.ask(`/user/${session.userId}${path}`, options);
  expect(answer.status).toBe(200);
  return answer;
};
const append = (stream: string, type: keyof typeof eventExamples, data: JsonObject) =>
  account.foundation.eventStore.append(stream, -1, [
    anEvent({ type, data: { ...eventExamples[type], ...data }, time: account.clock.now() }),
  ]);
/** What other services append for a user: one send that an app paid for, and one registration. */
const appendFor = async ({ userId }: Session, name: string, appId = account.app.id) => {
  const { sender } = eventExamples.SponsorshipReserved;
  await append(`transaction-tx_${name}`, 'TxSubmitted', { userId, appId, transactionId: `tx_${name}` });
  await append(`sponsorship-${appId}-${name}`, 'SponsorshipReserved', { userId, appId, sender });
  await append(`watch-wch_${name}`, 'ContractRegistered', { userId, appId, watchId: `wch_${name}` });
};
const ask = (session: Session, path = '/data', headers = {}) =>
  account.ask(`/user/${session.userId}${path}`, { headers: { ...bearer(session), ...headers } });
/** The document, which has no member but those that its schema says. */
const heldOf = async (session: Session) => {
  await projectStored(account.foundation);
  const answer = await ask(session);
  expect(answer.status).toBe(200);
  const given: unknown = await answer.json();
  const answered = personalData.parse(given);
  const document = { ...answered, sections: answered.sections.map((one) => heldSection.parse(one)) };
  expect(given).toEqual(document);
  const section = <Name extends HeldSection['name']>(name: Name): Named<Name> => {
    const found = document.sections.find((one): one is Named<Name> => one.name === name);
    if (!found) throw new Error(`the document has no section ${name}`);
    return found;
  };
  return { document, section, text: JSON.stringify(given) };
};

describe('what is held about a person', () => {
  let ada: Session;
  let bob: Session;
  let phone: RegisteredApp;
  let began: string;
  beforeAll(async () => {
    phone = await account.register({ name: 'Phone', isThirdParty: true });
    began = new Date(account.clock.now()).toISOString();
    ada = await logInBy('ada@mail.example');
    bob = await logInBy('bob@mail.example');
    await post(ada, '/profile', { username: 'Ada' });
    await post(ada, '/messenger', { messengerId: '4711', messengerUsername: 'countess' });
    await post(bob, '/profile', { username: 'Robert' });
    await passkeyCalls(account).registered(new SoftwareAuthenticator(ORIGIN), { session: ada });
    await append('transaction-tx_rpc', 'TxSubmitted', { userId: null, transactionId: 'tx_rpc' });
    await appendFor(ada, 'ada');
    await appendFor(bob, 'bob');
    account.clock.time += MINUTE;
    await logInBy('ada@mail.example');
    await logInBy('ada@mail.example', phone);
  });

  it('has every section, each with a purpose, a retention and a source', async () => {
    const { document } = await heldOf(ada);
    expect(document.subject).toBe(ada.userId);
    expect(document.generatedAt).toBe(new Date(account.clock.now()).toISOString());
    expect(document.sections.map(({ name }) => name)).toEqual([
      ...['profile', 'identities', 'sessions', 'transactions', 'registrations', 'sponsorship', 'messages'],
    ]);
    for (const { purpose, retention, source, data } of document.sections) {
      expect([purpose, retention, source].every((text) => text.length > 10)).toBe(true);
      expect(data).not.toEqual([]);
    }
  });

  it('has the profile, and the identities with addresses and passkeys in the clear', async () => {
    const { section } = await heldOf(ada);
    expect(section('profile').data).toMatchObject({
      ...{ id: ada.userId, username: 'Ada', messengerId: '4711', messengerUsername: 'countess' },
    });
    expect(section('identities').data).toEqual([
      {
        ...{ id: emails.identityIdOf('ada@mail.example'), method: 'email', label: 'ada@mail.example' },
        ...{ linkedAt: began, passkey: null },
      },
      {
        ...{ id: expect.any(String), method: 'passkey', label: 'app.example', linkedAt: began },
        passkey: { credentialId: expect.stringMatching(/^[\w-]+$/), publicKey: expect.stringMatching(/^[\w-]+$/) },
      },
    ]);
  });

  it('has the sessions, and which of them asks', async () => {
    const { section } = await heldOf(ada);
    const sessions = section('sessions').data;
    expect(sessions.map(({ app, method }) => `${app} ${method}`).toSorted()).toEqual(
      [
        `${account.app.id} email`,
        `${account.app.id} email`,
        `${account.app.id} passkey`,
        `${phone.id} email`,
      ].toSorted(),
    );
    expect(sessions.filter(({ current }) => current)).toMatchObject([{ createdAt: began, endedAt: null }]);
    const ended = await logInBy('ada@mail.example');
    await account.ask('/auth/logout', { method: 'POST', headers: bearer(ended) });
    const again = (await heldOf(ada)).section('sessions').data;
    expect(again.filter(({ endedAt }) => endedAt !== null)).toHaveLength(1);
  });

  it('has what was sent, registered and paid for', async () => {
    const { section } = await heldOf(ada);
    const { ContractRegistered: registered, SponsorshipReserved: reserved } = eventExamples;
    expect(section('transactions').data).toMatchObject([{ id: 'tx_ada', status: 'submitted' }]);
    expect(section('registrations').data).toMatchObject([
      {
        ...{ id: 'wch_ada', contractAddress: registered.contractAddress, eventName: registered.eventName },
        ...{ app: account.app.id, registeredAt: began, isClaimed: true },
      },
    ]);
    expect(section('sponsorship').data).toMatchObject([
      {
        ...{ app: account.app.id, day: 'ada', sender: reserved.sender, maxCostWei: reserved.maxCostWei },
        ...{ state: 'reserved', costWei: null, userOpHashes: [reserved.userOpHash] },
      },
    ]);
  });

  it('says of a registration that was removed that it is', async () => {
    const { watchId: _, appId: __, ...about } = eventExamples.WatchRemoved;
    const claim = { userId: ada.userId, appId: account.app.id, watchId: 'wch_gone' };
    const events = [
      anEvent({ type: 'ContractRegistered', data: { ...eventExamples.ContractRegistered, ...claim } }),
      anEvent({ type: 'WatchRemoved', data: { ...about, ...claim } }),
    ];
    await account.foundation.eventStore.append('watch-wch_gone', -1, events);
    const { data } = (await heldOf(ada)).section('registrations');
    expect(data.map(({ id, isClaimed }) => [id, isClaimed])).toEqual([
      ['wch_ada', true],
      ['wch_gone', false],
    ]);
  });

  it('has the messages that were sent to the user, by which app’s wish', async () => {
    const identity = emails.identityIdOf('ada@mail.example');
    const message = { kind: 'one-time-password', method: 'email', identity };
    expect((await heldOf(ada)).section('messages').data.slice(0, 3)).toEqual([
      { ...message, time: began, app: account.app.id },
      { ...message, time: new Date(Date.parse(began) + MINUTE).toISOString(), app: account.app.id },
      { ...message, time: new Date(Date.parse(began) + MINUTE).toISOString(), app: phone.id },
    ]);
  });

  it('has nothing of anybody else at the same app', async () => {
    const [ofAda, ofBob] = [(await heldOf(ada)).text, (await heldOf(bob)).text];
    const isAda = [ada.userId, 'ada@mail.example', '"Ada"', '4711', 'tx_ada', 'wch_ada', phone.id];
    const isBob = [bob.userId, 'bob@mail.example', '"Robert"', 'tx_bob', 'wch_bob'];
    expect(isAda.filter((text) => !ofAda.includes(text))).toEqual([]);
    expect(isBob.filter((text) => !ofBob.includes(text))).toEqual([]);
    expect(isBob.filter((text) => ofAda.includes(text))).toEqual([]);
    expect(isAda.filter((text) => ofBob.includes(text))).toEqual([]);
    expect(ofAda + ofBob).not.toContain('tx_rpc');
  });

  it('names the apps that were answered each section, since their first session', async () => {
    const { section } = await heldOf(ada);
    const [own] = section('profile').recipients;
    expect(own).toMatchObject({ app: account.app.id, since: began });
    expect(Date.parse(own?.last ?? '')).toBeGreaterThanOrEqual(Date.parse(began) + MINUTE);
    const later = new Date(Date.parse(began) + MINUTE).toISOString();
    const foreign = { app: phone.id, since: later, last: later };
    // A third party's app sees the whole profile, and of sessions and transactions those that came through it.
    for (const name of ['profile', 'identities', 'sessions', 'messages'] as const)
      expect([name, section(name).recipients]).toEqual([name, [own, foreign]]);
    for (const name of ['transactions', 'registrations', 'sponsorship'] as const)
      expect([name, section(name).recipients]).toEqual([name, [own]]);
  });

  it('is never cached, and has a position as of which it is so', async () => {
    await projectStored(account.foundation);
    const answer = await ask(ada);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const { position, history } = personalData.parse(await answer.json());
    await post(ada, '/profile', { username: 'Augusta' });
    const now = await heldOf(ada);
    expect(now.section('profile').data.username).toBe('Augusta');
    const asOf = async (at: string) => (await (await ask(ada, `?asOf=${at}`)).json()) as { username: string };
    expect((await asOf(position)).username).toBe('Ada');
    expect((await asOf(now.document.position)).username).toBe('Augusta');
    expect((await ask(ada, '/data', { 'x-min-position': now.document.position })).status).toBe(200);
    expect(now.document.history.items).toBe(history.items + 1);
    const exported = await account.ask(new URL(now.document.history.url).pathname, { headers: bearer(ada) });
    expect((await exported.text()).trimEnd().split('\n').slice(0, -1)).toHaveLength(now.document.history.items);
  });

  it('is for the user alone, at an app that the operator trusts', async () => {
    const foreign = await account.ask(`/user/${ada.userId}/data`, { headers: bearer(bob) });
    expect(await codeOf(foreign)).toBe('forbidden');
    expect(await codeOf(await account.ask(`/user/${ada.userId}/data`))).toBe('token_missing');
    const foreignApp = await logInBy('ada@mail.example', phone);
    await projectStored(account.foundation);
    expect(await codeOf(await ask(foreignApp))).toBe('forbidden');
  });

  it('is read page by page, whole and in order', async () => {
    const eve = await logInBy('eve@mail.example');
    const names = Array.from({ length: 230 }, (_, at) => `eve${String(at).padStart(3, '0')}`);
    for (const name of names) await appendFor(eve, name);
    const { section } = await heldOf(eve);
    expect(section('transactions').data.map(({ id }) => id)).toEqual(names.map((name) => `tx_${name}`));
    expect(section('registrations').data.map(({ id }) => id)).toEqual(names.map((name) => `wch_${name}`));
    expect(section('sponsorship').data.map(({ day }) => day)).toEqual(names);
  });

  it('is not answered in part while a read model is behind', async () => {
    await projectStored(account.foundation);
    await post(ada, '/profile', { firstname: 'Augusta' });
    const others = readModels.filter((model) => model !== historyModel);
    await projectStored(account.foundation, others);
    expect(await codeOf(await ask(ada))).toBe('not_caught_up');
  });
});

describe('messages', () => {
  it('to who had the address before are not told to who has it now', async () => {
    const email = 'shared@mail.example';
    const before = await logInBy(email);
    await account.logIn(account.newWallet(), { session: before });
    const path = `/user/${before.userId}/identities/${emails.identityIdOf(email)}`;
    expect((await account.ask(path, { method: 'DELETE', headers: bearer(before) })).status).toBe(204);
    account.clock.time += MINUTE;
    const now = await logInBy(email);
    expect(now.userId).not.toBe(before.userId);
    const { data } = (await heldOf(now)).section('messages');
    expect(data.map(({ time }) => time)).toEqual([new Date(account.clock.now()).toISOString()]);
  });

  it('that no server took, or that were not sent, are none', async () => {
    const email = 'away@mail.example';
    const session = await logInBy(email);
    const stream = oneTimePasswordStream(emails.identityIdOf(email));
    const { eventStore } = account.foundation;
    const [first] = await eventStore.read(stream, { limit: 1 });
    const issued = { ...first?.data, otpId: 'otp_2' };
    const { length } = await eventStore.read(stream);
    await eventStore.append(stream, length - 1, [
      anEvent({ type: 'OtpIssued', data: issued, time: account.clock.now() }),
      anEvent({ type: 'OtpNotSent', data: { otpId: 'otp_2' }, time: account.clock.now() }),
      anEvent({ type: 'OtpIssued', data: { ...issued, otpId: 'otp_3', isSent: false }, time: account.clock.now() }),
    ]);
    expect((await heldOf(session)).section('messages').data).toHaveLength(1);
  });
});

describe('what is held about a person who was erased', () => {
  it('is refused, and nothing personal of it is left anywhere that it is read from', async () => {
    const session = await logInBy('grace@mail.example');
    await post(session, '/profile', { username: 'Grace Hopper' });
    await appendFor(session, 'grace');
    expect((await heldOf(session)).text).toContain('Grace Hopper');
    const erased = await account.ask(`/user/${session.userId}`, { method: 'DELETE', headers: bearer(session) });
    expect(erased.status).toBe(204);
    await projectStored(account.foundation);
    // Its sessions end a moment after it.
    expect(['user_erased', 'session_revoked']).toContain(await codeOf(await ask(session)));
    const { readStore } = account.foundation;
    const collections = readModels.flatMap((model) => Object.values(model.collections));
    const documents = await Promise.all(collections.map(({ name }) => readStore.find(name, { limit: 10_000 })));
    const text = JSON.stringify(documents);
    expect(text).toContain(session.userId);
    expect(['Grace Hopper', 'grace@mail.example'].filter((personal) => text.includes(personal))).toEqual([]);
  });
});
