import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { developmentMailbox } from '../../../schemas/http/account/development-mailbox.ts';
import { allTopics } from '../../../schemas/topics.ts';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { vaultDatabase } from '../../../shared/key-vault/key-vault.ts';
import type { MessageBus } from '../../../shared/message-bus/message-bus.ts';
import { MongoReadStore } from '../../../shared/read-store/mongodb/read-store.mongo.ts';
import { SqliteReadStore } from '../../../shared/read-store/embedded/read-store.sqlite.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { dropDatabases, emptyDatabase } from '../../../shared/testing/engines/drop-databases.mongo.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { appHeaders, callUntilServed } from '../../../shared/testing/http/http-caller.ethers.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { RunningProgram } from '../../../shared/testing/processes/running-program.ts';
import { whereServer } from '../../../shared/testing/engines/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { connectForTests, kafkaForTests } from '../../../shared/testing/engines/test-bus.kafka.ts';
import { textsInDatabases } from '../../../shared/testing/engines/texts-in-database.mongo.ts';

const PEOPLE = Number(process.env['PEOPLE'] ?? 8);
if (!Number.isInteger(PEOPLE) || PEOPLE < 2) throw new Error('PEOPLE must be a number of people, at least 2');
/** Some hundred requests, of which each is stored on disk, and waits that fail with their own sentence. */
const TEST_MS = 240_000 + PEOPLE * 5_000;
const HAPPENS_WITHIN_MS = 60_000;

interface Person {
  userId: string;
  bearer: { authorization: string };
  /** What this person said, which nobody else did, by what it is. */
  markers: Record<string, string>;
}

/** A place, and all that is found there. */
type Text = readonly [place: string, content: string];

interface Stores {
  settings: Record<string, string>;
  readStore: () => Promise<ReadStore>;
  /** What is in them and may be erased, beside the files of the data folder. */
  texts: () => Promise<readonly Text[]>;
  /** What consumers of others have for good, if the stores are servers: it never had what people said. */
  published?: () => Promise<readonly Text[]>;
}

const erasureOn = (name: string, storesIn: (folder: string) => Stores): void => {
  describe(name, () => {
    const folder = join(temporaryFolder(), 'data');
    const stores = storesIn(folder);
    let program: RunningProgram;
    beforeAll(async () => {
      program = await RunningProgram.start(folder, stores.settings);
    }, TEST_MS);
    afterAll(() => program.stop(), TEST_MS);

    const account = (
      path: string,
      { bearer = {}, ...options }: Parameters<typeof callUntilServed>[1] & { bearer?: Record<string, string> } = {},
    ) =>
      callUntilServed(program.development.accountUrl + path, {
        ...options,
        headers: { ...options.headers, ...bearer },
      });

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
      const store = await stores.readStore();
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

    const files = (): Text[] => {
      const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      return entries.map(({ parentPath, name: file }) => [file, readFileSync(join(parentPath, file), 'latin1')]);
    };

    /** What these people said, and where it is. */
    const found = (people: readonly Person[], texts: readonly Text[]): string[] =>
      people.flatMap(({ markers }, at) =>
        Object.entries(markers).flatMap(([what, text]) =>
          texts
            .filter(([, content]) => content.includes(text))
            .map(([place]) => `${what} of ${String(at)} in ${place}`),
        ),
      );
    const foundOf = async (people: readonly Person[]) => found(people, [...files(), ...(await stores.texts())]);
    const kindsIn = (places: readonly string[]) => new Set(places.map((place) => place.split(' ')[0]));

    it(
      'has nothing left of a person after the erasure, and what others said as before',
      async () => {
        const people: Person[] = [];
        for (let at = 0; at < PEOPLE; at += 1) people.push(await newPerson());
        const [erased, others] = [people.slice(1), people.slice(0, 1)];
        const [kinds, kindsOfOthers] = [people, others].map(([person]) => new Set(Object.keys(person?.markers ?? {})));
        await fillFormerCollections(people);
        const areAllThere = async () => kindsIn(await foundOf(erased)).size === kinds?.size;
        await eventually(
          areAllThere,
          HAPPENS_WITHIN_MS,
          'what people said must be in read models, else nothing is tested',
        );

        for (const { userId, bearer } of erased)
          expect((await account(`/user/${userId}`, { method: 'DELETE', bearer })).status).toBe(204);
        const expectNothing = async () => {
          expect(await foundOf(erased)).toEqual([]);
          return true;
        };
        await eventually(expectNothing, HAPPENS_WITHIN_MS, 'nothing of an erased person may be left');
        expect(kindsIn(await foundOf(others))).toEqual(kindsOfOthers);

        if (!stores.published) return;
        const published = await stores.published();
        expect(found(people, published)).toEqual([]);
        const isNamed = ({ userId }: Person) => published.some(([, content]) => content.includes(userId));
        expect(people.filter((person) => !isNamed(person))).toEqual([]);
      },
      TEST_MS,
    );
  });
};

/** All messages of a bus, by topic. */
const messagesOf = async (bus: MessageBus): Promise<Text[]> => {
  const texts: Text[] = [];
  for (const topic of allTopics) {
    const stop = new AbortController();
    const [from, ends] = [await bus.offsets(topic, 'earliest'), await bus.offsets(topic, 'latest')];
    const left = new Set([...ends].flatMap(([partition, end]) => (from.get(partition) === end ? [] : [partition])));
    if (left.size === 0) continue;
    const found: unknown[] = [];
    for await (const { partition, messages } of bus.consume(topic, from, stop.signal)) {
      found.push(...messages);
      if (Number(messages.at(-1)?.offset) + 1 >= Number(ends.get(partition))) left.delete(partition);
      if (left.size === 0) stop.abort();
    }
    texts.push([topic.name, JSON.stringify(found)]);
  }
  return texts;
};

erasureOn('the data folder', (folder) => ({
  settings: {},
  readStore: () => Promise.resolve(new SqliteReadStore(join(folder, 'read.db'))),
  texts: () => Promise.resolve([]),
}));

whereServer('MONGO_URL', (MONGO_URL) => {
  whereServer('KAFKA_BROKERS', (KAFKA_BROKERS) => {
    const MONGO_DATABASE = `annals-test-${String(process.pid)}-erased`;
    const kafka = kafkaForTests(KAFKA_BROKERS);
    const vault = vaultDatabase(MONGO_DATABASE);
    afterAll(async () => {
      await dropDatabases(MONGO_URL, [MONGO_DATABASE]);
      await emptyDatabase(MONGO_URL, vault);
    });

    erasureOn('MongoDB and Kafka', () => ({
      settings: { MONGO_URL, MONGO_DATABASE, KAFKA_BROKERS, TOPIC_PREFIX: kafka.TOPIC_PREFIX },
      readStore: () => {
        const { settings } = loadSettings({ MONGO_URL, MONGO_DATABASE });
        return MongoReadStore.connect({ settings: { ...settings, MONGO_URL }, logger: pino({ level: 'silent' }) });
      },
      texts: () => textsInDatabases(MONGO_URL, [MONGO_DATABASE, vault]),
      published: async () => {
        const bus = await connectForTests(kafka);
        const texts = await messagesOf(bus);
        await bus.close();
        return texts;
      },
    }));
  });
});
