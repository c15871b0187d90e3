import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { heldSection, personalData } from '../../../schemas/http/account/personal-data.ts';
import { remoteIssuer } from '../../../shared/auth/access-tokens.jose.ts';
import { appHeaders, call, untilServed, type SignedIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { newestPassword } from '../../account/testing/one-time-passwords.ts';
import { registration } from '../../event-catcher/testing/routes/catcher-fixtures.ts';
import { serveCatcherRoutes } from '../../event-catcher/testing/routes/catcher-routes.module.ts';
import { SendsUnderTest, type Sender, type SendingApp } from '../../onchain/testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();

let sends: SendsUnderTest;
let catcher: Awaited<ReturnType<typeof serveCatcherRoutes>>;
let app: SendingApp;
beforeAll(async () => {
  sends = await SendsUnderTest.start(folder);
  const { url } = sends.service;
  catcher = await serveCatcherRoutes(sends.foundation, remoteIssuer(url, `${url}/.well-known/jwks.json`));
  app = await sends.app();
});
// Two hooks, so that the chain is stopped even if the catcher did not start.
afterAll(() => catcher.service.close());
afterAll(() => sends.stop());

/** Links an email address to the user of a session, by a one-time password. */
const linkEmail = async (email: string, { bearer }: SignedIn) => {
  const post = (path: string, body: object) =>
    call(sends.service.url + path, { method: 'POST', headers: { ...appHeaders({ app }), ...bearer }, body });
  expect((await post('/auth/email-otp-request', { email })).status).toBe(201);
  const otp = await newestPassword(sends.service.url, email);
  expect((await post('/auth/email-otp-verify', { email, otp })).status).toBe(201);
};
/** Registers a contract event and sends a transaction that the app pays for. */
const registerAndSend = async (sender: Sender) => {
  const { bearer: headers } = sender;
  const url = `${catcher.service.url}/api/v1/contracts`;
  const registered = await call(url, { method: 'POST', headers, body: registration() });
  expect([200, 201]).toContain(registered.status);
  const sent = await sends.send(sender);
  expect(sent.status).toBe(201);
  await sends.until(sender, sent.body['id'], 'included', 'final');
  return { watchId: registered.body['id'] as string, transactionId: sent.body['id'] as string };
};
const heldOf = async (sender: Sender) => {
  const { status, headers, body } = await untilServed(() => sends.get(`/user/${sender.userId}/data`, sender));
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  const sections = personalData.parse(body).sections.map((one) => heldSection.parse(one));
  return { text: JSON.stringify(body), data: Object.fromEntries(sections.map(({ name, data }) => [name, data])) };
};

it('commands of every service fill every section of what is held about a person', async () => {
  const [ada, bob] = [await sends.sender(app), await sends.sender(app)];
  await linkEmail('ada@mail.example', ada);
  await linkEmail('bob@mail.example', bob);
  const profile = { method: 'POST', headers: ada.bearer, body: { username: 'Ada' } };
  await call(`${sends.service.url}/user/${ada.userId}/profile`, profile);
  // Both register the same event: one watch, which each of them claims.
  const [ofAda, ofBob] = [await registerAndSend(ada), await registerAndSend(bob)];
  expect(ofAda.watchId).toBe(ofBob.watchId);

  const held = await heldOf(ada);
  expect(held.data).toMatchObject({
    profile: { id: ada.userId, username: 'Ada', smartAccounts: [{ address: ada.address, deployed: true }] },
    identities: [{ method: 'wallet' }, { method: 'email', label: 'ada@mail.example' }],
    sessions: [{ app: app.id }, { app: app.id }],
    transactions: [{ id: ofAda.transactionId, status: expect.stringMatching(/included|final/) }],
    registrations: [{ id: ofAda.watchId, app: app.id, isClaimed: true }],
    sponsorship: [{ app: app.id, sender: ada.address, state: 'settled' }],
    messages: [{ method: 'email', app: app.id }],
  });
  const isBob = [bob.userId, bob.address, 'bob@mail.example', ofBob.transactionId];
  expect(isBob.filter((text) => held.text.includes(text))).toEqual([]);
});

it('a removed registration is told as one, to who removed it', async () => {
  const [ada, bob] = [await sends.sender(app), await sends.sender(app)];
  const { watchId } = await registerAndSend(ada);
  await registerAndSend(bob);
  const url = `${catcher.service.url}/api/v1/contracts/${watchId}`;
  expect((await call(url, { method: 'DELETE', headers: ada.bearer })).status).toBe(204);
  expect((await heldOf(ada)).data['registrations']).toMatchObject([{ id: watchId, isClaimed: false }]);
  expect((await heldOf(bob)).data['registrations']).toMatchObject([{ id: watchId, isClaimed: true }]);
});
