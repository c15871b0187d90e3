import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { developmentMailbox } from '../../../schemas/http/development-mailbox.ts';
import { SqliteReadStore } from '../../../shared/read-store/read-store.sqlite.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { appHeaders, call } from '../../../shared/testing/http-caller.ethers.ts';
import { randomWallet } from '../../../shared/testing/random-wallet.ethers.ts';
import { RunningProgram } from '../../../shared/testing/running-program.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';

const PEOPLE = Number(process.env['PEOPLE'] ?? 8);
if (!Number.isInteger(PEOPLE) || PEOPLE < 2) throw new Error('PEOPLE must be a number of people, at least 2');
/** Some hundred requests, of which each is stored on disk. */
const TEST_MS = 120_000 + PEOPLE * 5_000;

interface Person {
  userId: string;
  bearer: { authorization: string };
  /** What this person said, which nobody else did, by what it is. */
  markers: Record<string, string>;
}

describe('the data folder', () => {
  const folder = join(temporaryFolder(), 'data');
  let program: RunningProgram;
  beforeAll(async () => {
    program = await RunningProgram.start(folder, {});
  }, TEST_MS);
  afterAll(() => program.stop(), TEST_MS);

  const account = (
    path: string,
    { bearer = {}, ...options }: Parameters<typeof call>[1] & { bearer?: Record<string, string> } = {},
  ) => call(program.development.accountUrl + path, { ...options, headers: { ...options.headers, ...bearer } });

  const marker = () => `m${randomBytes(8).toString('hex')}`;

  const signIn = async (device: string, email: string): Promise<Pick<Person, 'userId' | 'bearer'>> => {
    const headers = () => ({ ...appHeaders(program.development), 'user-agent': device });
    const wallet = randomWallet();
    const { body } = await account(`/auth/web3/challenge?signer=${wallet.address}`, { headers: headers() });
    const signature = wallet.signMessageSync(body['message'] as string);
    const logIn = (path: string, login: object, bearer = {}) =>
      account(path, { method: 'POST', headers: headers(), body: login, bearer });
    const first = await logIn('/auth/web3', { signature, signer: wallet.address });
    const bearer = { authorization: `Bearer ${first.body['accessToken'] as string}` };
    await logIn('/auth/email-otp-request', { email });
    const linked = await logIn('/auth/email-otp-verify', { email, otp: await passwordFor(email) }, bearer);
    expect([first.status, linked.status]).toEqual([201, 201]);
    return {
      userId: linked.body['userId'] as string,
      bearer: { authorization: `Bearer ${linked.body['accessToken'] as string}` },
    };
  };

  const passwordFor = async (email: string): Promise<string> => {
    const answer = await fetch(program.development.mailboxUrl, { headers: { accept: 'application/json' } });
    const { messages } = developmentMailbox.parse(await answer.json());
    return /\b\d{6}\b/.exec(messages.find(({ to }) => to === email)?.text ?? '')?.[0] ?? '';
  };

  const newPerson = async (): Promise<Person> => {
    const [device, email] = [`Browser ${marker()}`, `${marker()}@example.com`];
    const profile = {
      ...{ username: marker(), firstname: marker(), lastname: marker(), signature: marker() },
      avatar: `https://example.com/${marker()}.png`,
    };
    const messenger = {
      ...{ messengerId: marker(), messengerUsername: marker(), messengerFirstName: marker() },
      ...{ messengerLastName: marker(), messengerAvatarUrl: `https://example.com/${marker()}.png` },
    };
    const { userId, bearer } = await signIn(device, email);
    const headers = { 'idempotency-key': marker() };
    const changed = [
      await account(`/user/${userId}/profile`, { method: 'POST', body: profile, bearer, headers }),
      await account(`/user/${userId}/messenger`, { method: 'POST', body: messenger, bearer }),
    ];
    expect(changed.map(({ status }) => status)).toEqual([200, 200]);
    return {
      ...{ userId, bearer },
      markers: { device, email, ...profile, ...messenger, formerName: marker(), formerDevice: marker() },
    };
  };

  /** Leaves what an earlier version made of these people in collections that no model names. */
  const fillFormerCollections = async (people: readonly Person[]): Promise<void> => {
    const store = new SqliteReadStore(join(folder, 'read.db'));
    await store.define([
      { name: 'users-v1', indexes: [] },
      { name: 'sessions-v2', indexes: [['userId', 'lastUsedAt']] },
    ]);
    const documents = people.flatMap(({ userId, markers: { formerName = '', formerDevice = '' } }) => [
      { collection: 'users-v1', id: userId, position: 1, document: { id: userId, username: formerName } },
      { collection: 'sessions-v2', id: formerDevice, position: 1, document: { userId, device: formerDevice } },
    ]);
    await store.apply('users-v1', documents, 1);
    await store.close();
  };

  /** Which of these texts are in which files. */
  const found = (people: readonly Person[]): string[] => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const texts = files.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'latin1')] as const);
    return people.flatMap(({ markers }, at) =>
      Object.entries(markers).flatMap(([what, text]) =>
        texts.filter(([, content]) => content.includes(text)).map(([file]) => `${what} of ${String(at)} in ${file}`),
      ),
    );
  };
  const kindsIn = (places: readonly string[]) => new Set(places.map((place) => place.split(' ')[0]));

  it(
    'has nothing of a person two seconds after the erasure, and what others said as before',
    async () => {
      const people: Person[] = [];
      for (let at = 0; at < PEOPLE; at += 1) people.push(await newPerson());
      const [erased, others] = [people.slice(1), people.slice(0, 1)];
      const [kinds, kindsOfOthers] = [people, others].map(([person]) => new Set(Object.keys(person?.markers ?? {})));
      await fillFormerCollections(people);
      const areAllThere = () => kindsIn(found(erased)).size === kinds?.size;
      await eventually(areAllThere, 10_000, 'what people said must be in read models, else nothing is tested');

      for (const { userId, bearer } of erased)
        expect((await account(`/user/${userId}`, { method: 'DELETE', bearer })).status).toBe(204);
      const expectNothing = () => {
        expect(found(erased)).toEqual([]);
        return true;
      };
      await eventually(expectNothing, 2_000, 'nothing of an erased person may be left in a file');
      expect(kindsIn(found(others))).toEqual(kindsOfOthers);
    },
    TEST_MS,
  );
});
