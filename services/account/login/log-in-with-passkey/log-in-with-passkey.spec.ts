import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { decodeJwt } from 'jose';
import { passkeyStream } from '../../../../schemas/events/account/passkey-events.ts';
import { userStream } from '../../../../schemas/events/account/user-events.ts';
import type { Session } from '../../../../schemas/http/account/session.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { codeOf } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../../shared/testing/without-appends-to.ts';
import { ORIGIN, startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer, sessionOf } from '../../testing/sessions.ts';
import { passkeyCalls } from '../../testing/passkey-calls.ts';
import { FLAGS, SoftwareAuthenticator } from '../../testing/software-authenticator.ts';
import { userFold } from '../../users/domain/user.ts';

const folder = temporaryFolder();
const MINUTE = 60_000;

describe('logging in with a passkey', () => {
  let account: AccountUnderTest;
  let calls: ReturnType<typeof passkeyCalls>;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
    calls = passkeyCalls(account);
  });
  afterAll(() => account.service.close());

  const anAuthenticator = (algorithm?: 'ES256' | 'RS256') => new SoftwareAuthenticator(ORIGIN, algorithm);
  /** A user who has made a passkey. */
  const aUser = async (algorithm?: 'ES256' | 'RS256') => {
    const authenticator = anAuthenticator(algorithm);
    return { authenticator, session: await calls.registered(authenticator) };
  };
  const userOf = async ({ userId }: Session) =>
    (await account.transactor.load(userStream(userId), userFold)).state.entity;
  const passkeysOf = async (session: Session) =>
    ((await userOf(session))?.identities ?? []).filter(({ method }) => method === 'passkey');
  const expectCrash = async (prefix: string, send: () => Promise<Response>) =>
    expect(await codeOf(await withoutAppendsTo(prefix, account.foundation, send))).toBe('internal_error');

  it.each(['ES256', 'RS256'] as const)('makes a user, who logs in again with it, by %s', async (algorithm) => {
    const { authenticator, session } = await aUser(algorithm);
    expect(session.userId).toMatch(/^usr_/);
    expect(decodeJwt(session.accessToken)['amr']).toEqual(['passkey']);
    const again = await sessionOf(await calls.loggedIn(authenticator));
    expect(again.userId).toBe(session.userId);
    expect(await passkeysOf(session)).toMatchObject([{ method: 'passkey', label: 'app.example' }]);
  });

  it('has options as browsers take them: discoverable, user verification preferred, and naming nobody', async () => {
    const { options } = await calls.creation();
    expect(options).toMatchObject({
      rp: { id: 'app.example', name: 'Example' },
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
    });
    await aUser();
    const [first, second] = [await calls.request(), await calls.request()];
    expect(first.options).toMatchObject({ rpId: 'app.example', allowCredentials: [], userVerification: 'preferred' });
    expect(first.options.challenge).not.toBe(second.options.challenge);
    expect(Buffer.from(first.options.challenge, 'base64url').length).toBeGreaterThanOrEqual(32);
  });

  it('does not need that the user was verified, but that somebody was there', async () => {
    const { authenticator } = await aUser();
    const send = async (flags: number) => {
      const { state, options } = await calls.request();
      return calls.logIn(state, authenticator.get(options, { flags }));
    };
    expect((await send(FLAGS.present)).status).toBe(201);
    expect(await codeOf(await send(FLAGS.absent))).toBe('passkey_invalid');
    const { state, options } = await calls.creation();
    const absent = anAuthenticator().create(options, { flags: FLAGS.absent });
    expect(await codeOf(await calls.register(state, absent))).toBe('passkey_invalid');
  });

  const foreign = {
    'another origin': { origin: 'https://evil.example' },
    'the origin of a subdomain': { origin: 'https://www.app.example' },
    'another RP id': { rpId: 'evil.example' },
    'another challenge': { challenge: 'MDEyMzQ1Njc4OWFiY2RlZmdoamttbnBxcnM' },
    'the other ceremony': { type: 'payment.get' },
  };
  it.each(Object.entries(foreign))('is refused with %s, which uses up no state', async (_, changes) => {
    const { authenticator } = await aUser();
    const { state, options } = await calls.request();
    expect(await codeOf(await calls.logIn(state, authenticator.get(options, changes)))).toBe('passkey_invalid');
    expect((await calls.logIn(state, authenticator.get(options))).status).toBe(201);
    const creation = await calls.creation();
    const made = anAuthenticator();
    const wrong = await calls.register(creation.state, made.create(creation.options, changes));
    expect(await codeOf(wrong)).toBe('passkey_invalid');
    expect((await calls.register(creation.state, made.create(creation.options))).status).toBe(201);
  });

  it('is refused to another key, another user handle, none, and a credential that nobody registered', async () => {
    const { authenticator } = await aUser();
    const { state, options } = await calls.request();
    const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const other = Buffer.from('usr_other').toString('base64url');
    for (const changes of [{ key }, { userHandle: other }, { userHandle: null }]) {
      expect(await codeOf(await calls.logIn(state, authenticator.get(options, changes)))).toBe('passkey_invalid');
    }
    const unknown = Object.assign(anAuthenticator(), { userHandle: authenticator.userHandle });
    expect(await codeOf(await calls.logIn(state, unknown.get(options)))).toBe('passkey_invalid');
    expect((await calls.logIn(state, authenticator.get(options))).status).toBe(201);
  });

  it('takes no attestation, whose certificates would have it ask other hosts', async () => {
    const { state, options } = await calls.creation();
    const statement = new Map([['x5c', 'anything']]);
    for (const format of ['packed', 'fido-u2f', 'tpm', 'apple']) {
      const credential = anAuthenticator().create(options, { format, statement });
      const answer = await calls.register(state, credential);
      expect(await codeOf(answer)).toBe('passkey_invalid');
    }
  });

  it('uses a state once, for what it was begun, within five minutes', async () => {
    const { authenticator } = await aUser();
    const used = await calls.request();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => calls.logIn(used.state, authenticator.get(used.options))),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(await codeOf(await calls.logIn(used.state, authenticator.get(used.options)))).toBe('state_unknown');
    const [late, intime] = [await calls.request(), await calls.request()];
    const creation = await calls.creation();
    const registration = anAuthenticator().create(creation.options);
    expect(await codeOf(await calls.register(late.state, registration))).toBe('state_unknown');
    const signed = authenticator.get({ ...late.options, challenge: creation.options.challenge });
    expect(await codeOf(await calls.logIn(creation.state, signed))).toBe('state_unknown');
    account.clock.time += 5 * MINUTE - 1;
    expect((await calls.logIn(intime.state, authenticator.get(intime.options))).status).toBe(201);
    account.clock.time += 1;
    expect(await codeOf(await calls.logIn(late.state, authenticator.get(late.options)))).toBe('state_unknown');
    expect(await codeOf(await calls.register(creation.state, registration))).toBe('state_unknown');
    expect(await codeOf(await calls.logIn('unknown', authenticator.get(late.options)))).toBe('state_unknown');
  });

  it('is for the app and origin that began it', async () => {
    const two = await account.register({ origins: [ORIGIN, 'https://two.example'] });
    const { authenticator } = await aUser();
    const { state, options } = await calls.request();
    const by = (origin: string) => ({ headers: account.appHeaders({ origin }, two) });
    expect(await codeOf(await calls.logIn(state, authenticator.get(options), by(ORIGIN)))).toBe('state_unknown');
    const begun = await calls.request(by('https://two.example'));
    expect(begun.options.rpId).toBe('two.example');
    const elsewhere = await calls.logIn(begun.state, authenticator.get(begun.options), by(ORIGIN));
    expect(await codeOf(elsewhere)).toBe('state_unknown');
    const same = await calls.logIn(
      begun.state,
      authenticator.get(begun.options, { origin: 'https://two.example' }),
      by('https://two.example'),
    );
    expect(await codeOf(same)).toBe('passkey_invalid');
  });

  it('refuses a counter that does not rise, unless the authenticator does not count', async () => {
    const { authenticator, session } = await aUser();
    const at = async (counter: number) => {
      const { state, options } = await calls.request();
      return calls.logIn(state, authenticator.get(options, { counter }));
    };
    for (const counter of [0, 3, 10]) expect((await at(counter)).status).toBe(201);
    for (const counter of [10, 9, 0]) expect(await codeOf(await at(counter))).toBe('passkey_invalid');
    expect((await at(11)).status).toBe(201);
    const id = (await passkeysOf(session))[0]?.id ?? '';
    const events = await account.foundation.eventStore.read(passkeyStream(id));
    expect(events.map(({ type, data }) => [type, data['counter']])).toEqual([
      ['PasskeyRegistered', 0],
      ...[3, 10, 11].map((counter) => ['PasskeyUsed', counter]),
    ]);
  });

  it('belongs to who registered its credential first, whoever knows the credential', async () => {
    const { authenticator, session } = await aUser();
    const { state, options } = await calls.creation();
    const copy = authenticator.create(options);
    authenticator.userHandle = Buffer.from(session.userId).toString('base64url');
    expect(await codeOf(await calls.register(state, copy))).toBe('passkey_invalid');
    const thief = anAuthenticator();
    Object.assign(thief, { credentialId: authenticator.credentialId });
    expect(await codeOf(await calls.register(state, thief.create(options)))).toBe('passkey_invalid');
    expect((await sessionOf(await calls.loggedIn(authenticator))).userId).toBe(session.userId);
  });

  it.each(['passkey-', 'identity-', 'user-', 'session-'])(
    'is completed by the same request after a crash at %s, and by nobody else',
    async (failing) => {
      const authenticator = anAuthenticator();
      const { state, options } = await calls.creation();
      const made = authenticator.create(options);
      await expectCrash(failing, () => calls.register(state, made));
      const session = await account.logIn(account.newWallet());
      expect(await codeOf(await calls.register(state, made, { session }))).toBe('state_unknown');
      const { userId } = await sessionOf(await calls.register(state, made));
      expect(Buffer.from(options.user.id, 'base64url').toString()).toBe(userId);
      expect(await codeOf(await calls.register(state, made))).toBe('state_unknown');
      expect((await sessionOf(await calls.loggedIn(authenticator))).userId).toBe(userId);
    },
  );

  it('whose counter was stored before a crash is completed by the same request', async () => {
    const { authenticator, session } = await aUser();
    const { state, options } = await calls.request();
    const signed = authenticator.get(options, { counter: 4 });
    await expectCrash('state-', () => calls.logIn(state, signed));
    await expectCrash('session-', () => calls.logIn(state, signed));
    expect((await sessionOf(await calls.logIn(state, signed))).userId).toBe(session.userId);
    expect(await codeOf(await calls.logIn(state, signed))).toBe('state_unknown');
  });

  it('stores credential and key encrypted, and no challenge, and logs in nobody once its user is erased', async () => {
    const { authenticator, session } = await aUser();
    const { options } = await calls.request();
    const id = (await passkeysOf(session))[0]?.id ?? '';
    const { events } = await account.foundation.eventStore.readAll(0, undefined, Infinity);
    const stored = events.map(({ dataText }) => dataText).join('\n');
    for (const text of [authenticator.credentialId, options.challenge]) expect(stored).not.toContain(text);
    const [registered] = await account.foundation.eventStore.read(passkeyStream(id));
    const sealed = { enc: expect.any(String), kid: expect.any(String) };
    expect(registered?.data).toMatchObject({ credentialId: sealed, publicKey: sealed });
    const answer = await account.ask(`/user/${session.userId}`, { method: 'DELETE', headers: bearer(session) });
    expect(answer.status).toBe(204);
    expect(await codeOf(await calls.loggedIn(authenticator))).toBe('passkey_invalid');
    const refused = async () => (await codeOf(await calls.loggedIn(authenticator))) === 'passkey_invalid';
    await eventually(refused, 30_000, 'the passkey of an erased user must log in nobody');
  });

  it('refuses what is no credential', async () => {
    const { authenticator } = await aUser();
    const { state, options } = await calls.request();
    const signed = authenticator.get(options);
    const { response } = signed;
    for (const wrong of [
      {},
      { ...signed, id: '' },
      { ...signed, type: 'password' },
      { ...signed, response: { ...response, signature: 'not base64url!' } },
    ]) {
      const answer = await calls.logIn(state, wrong as typeof signed);
      expect(await codeOf(answer)).toBe('validation_failed');
    }
    for (const changed of [{ signature: 'AAAA' }, { authenticatorData: 'AAAA' }, { clientDataJSON: 'AAAA' }]) {
      const answer = await calls.logIn(state, { ...signed, response: { ...response, ...changed } });
      expect(await codeOf(answer)).toBe('passkey_invalid');
    }
    const creation = await calls.creation();
    const made = anAuthenticator().create(creation.options);
    const broken = { ...made, response: { ...made.response, attestationObject: 'o2NmbXRkbm9uZQ' } };
    expect(await codeOf(await calls.register(creation.state, broken))).toBe('passkey_invalid');
  });
});
