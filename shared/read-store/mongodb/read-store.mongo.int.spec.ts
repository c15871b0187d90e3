import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Document } from 'mongodb';
import { pino } from 'pino';
import type { JsonObject } from '../../../schemas/json.ts';
import { dropDatabases } from '../../testing/engines/drop-databases.mongo.ts';
import { eventually } from '../../testing/eventually.ts';
import { MongoLink } from '../../testing/engines/mongo-link.mongo.ts';
import { whereServer } from '../../testing/engines/servers.ts';
import { formerCollectionsContract } from '../former-collections/former-collections.contract.ts';
import { coordinationContract } from '../../coordination/coordination.contract.ts';
import { correctionsContract } from '../corrections.contract.ts';
import { versionsContract } from '../versions/versions.contract.ts';
import { readStoreContract } from '../read-store.contract.ts';
import type { MongoOptions } from './mongo-database.mongo.ts';
import { MongoReadStore } from './read-store.mongo.ts';
import { searchContract } from '../search.contract.ts';

const MONGO_DATABASE = `annals-test-${String(process.pid)}`;
const logger = pino({ level: 'silent' });
/** No answer is too late, however slow the machine is. */
const PATIENT = { answerMs: 3_600_000, selectionMs: 60_000 };
const refusal = { code: 'dependency_unavailable', retryAfter: 1 };
const duplicate = { index: 0, code: 11_000, errmsg: 'E11000 duplicate key' };

whereServer('MONGO_URL', (MONGO_URL) => {
  const connect = (url: string, NODE_ENV: 'test' | 'production' = 'test', limits: MongoOptions['limits'] = PATIENT) =>
    MongoReadStore.connect({ settings: { MONGO_URL: url, MONGO_DATABASE, NODE_ENV }, logger, limits });

  afterAll(() => dropDatabases(MONGO_URL, [MONGO_DATABASE]));

  for (const contract of [
    readStoreContract,
    searchContract,
    correctionsContract,
    versionsContract,
    formerCollectionsContract,
    coordinationContract,
  ])
    contract('MongoDB', () => connect(MONGO_URL));

  describe('read store on MongoDB with concurrent processes', () => {
    let one: MongoReadStore;
    let other: MongoReadStore;
    beforeAll(async () => {
      one = await connect(MONGO_URL);
      other = await connect(MONGO_URL);
      for (const store of [one, other]) await store.define([{ name: 'shared', indexes: [['rank']] }]);
    });
    afterAll(() => Promise.all([one.close(), other.close()]));
    const put = (store: MongoReadStore, id: string, position: number, rank = position, isNew = false) =>
      store.apply('raced', [{ collection: 'shared', id, position, document: { rank }, isNew }], position);

    it('keeps the newest version of a document, whichever process writes first', async () => {
      for (let round = 0; round < 40; round += 1) {
        const id = `raced-${String(round)}`;
        const [older, newer] = round % 2 === 0 ? [one, other] : [other, one];
        const isNew = round % 4 < 2;
        await Promise.all([put(older, id, 1, 1, isNew), put(newer, id, 2, 2, isNew)]);
        expect((await one.getMany('shared', [id])).get(id)).toEqual({ id, position: 2, document: { rank: 2 } });
      }
    });

    it('gives a lease to one of twenty contenders', async () => {
      const contenders = Array.from({ length: 20 }, (_, n) => ({ holder: String(n), epoch: 1, renewals: 0 }));
      const won = await Promise.all(
        contenders.map((lease, n) => (n % 2 === 0 ? one : other).replaceLease('raced', undefined, lease)),
      );
      expect(won.filter((isMine) => isMine)).toHaveLength(1);
      for (const store of [one, other]) expect(await store.lease('raced')).toEqual(contenders[won.indexOf(true)]);
    });
  });

  describe('read store on MongoDB over a broken connection', () => {
    let link: MongoLink;
    let store: MongoReadStore;
    beforeAll(async () => {
      link = await MongoLink.open(MONGO_URL);
      store = await connect(link.url);
      await store.define([{ name: 'faults', indexes: [] }]);
    });
    afterEach(() => {
      link.fault = () => undefined;
    });
    afterAll(async () => {
      await store.close();
      await link.close();
    });
    const put = (id: string, position: number, document: JsonObject = {}) =>
      store.apply(id, [{ collection: 'faults', id, position, document }], position);
    const stored = async (id: string) => (await store.getMany('faults', [id])).get(id)?.position;
    /** Matches the writes to one collection. */
    const writesTo = (collection: string) => (command: Document) =>
      [command['update'], command['insert']].includes(collection);
    const once = (matches: (command: Document) => boolean, fault: ReturnType<MongoLink['fault']>) => {
      let isDone = false;
      link.fault = (command) => {
        if (isDone || !matches(command)) return undefined;
        isDone = true;
        return fault;
      };
    };

    it.each(['cut', 'hang'] as const)(
      'refuses in time, and works again when the connection does: %s',
      async (fault) => {
        await put('before', 1);
        const hurried = await eventually(
          () => connect(link.url, 'test', { answerMs: 1_000, selectionMs: 1_000 }),
          15_000,
          'it must find the server in as little time',
        );
        const defined = () => hurried.define([{ name: 'faults', indexes: [] }]).then(() => true);
        await eventually(defined, 15_000, 'it must answer in as little time');
        link.fault = () => fault;
        if (fault === 'cut') link.cut();
        const apply = (position: number) =>
          hurried.apply('before', [{ collection: 'faults', id: 'before', position, document: {} }], position);
        const calls = [apply(2), hurried.find('faults', {}), hurried.count('faults', {}), hurried.position('before')];
        const leases = [
          hurried.lease('before'),
          hurried.replaceLease('before', undefined, { holder: 'a', epoch: 1, renewals: 0 }),
        ];
        for (const call of await Promise.allSettled([...calls, ...leases])) {
          expect(call).toMatchObject({ status: 'rejected', reason: refusal });
        }
        link.fault = () => undefined;
        await eventually(() => apply(3).then(() => true), 15_000, 'it must find the server again');
        await hurried.close();
        expect(await eventually(() => stored('before'), 15_000, 'the other store must find it too')).toBe(3);
      },
    );

    it('refuses to define collections while no server is reached, and names the fault that a server answers', async () => {
      const indexed = [{ name: 'indexed', indexes: [['member']] }];
      const createsIndexes = (command: Document) => 'createIndexes' in command;
      link.fault = (command) => (createsIndexes(command) ? 'cut' : undefined);
      await expect(store.define(indexed)).rejects.toMatchObject({ code: 'dependency_unavailable' });
      const answer = { ok: 0, code: 85, codeName: 'IndexOptionsConflict', errmsg: 'another index has this name' };
      link.fault = (command) => (createsIndexes(command) ? { answer } : undefined);
      await expect(store.define(indexed)).rejects.toThrow('another index has this name');
    });

    it('throws when the answer to a lease change is lost, because the change may have been applied', async () => {
      const lease = { holder: 'a', epoch: 1, renewals: 0 };
      once(writesTo('_leases'), 'lose the answer');
      await expect(store.replaceLease('lost', undefined, lease)).rejects.toMatchObject(refusal);
      expect(await store.lease('lost')).toEqual(lease);
      once(writesTo('_leases'), 'lose the answer');
      await expect(store.replaceLease('lost', lease, { ...lease, renewals: 1 })).rejects.toMatchObject(refusal);
      expect(await store.lease('lost')).toMatchObject({ renewals: 1 });
    });

    it('does not advance a position past writes that a majority may not have', async () => {
      const writeConcernError = {
        code: 64,
        codeName: 'WriteConcernFailed',
        errmsg: 'waiting for replication timed out',
      };
      for (const answer of [{ writeConcernError }, { n: 0, writeErrors: [duplicate], writeConcernError }]) {
        once(writesTo('faults'), { answer });
        await expect(put('majority', 1)).rejects.toMatchObject(refusal);
        expect(await store.position('majority')).toBe(0);
      }
      once(writesTo('_leases'), { answer: { writeConcernError } });
      const lease = { holder: 'a', epoch: 1, renewals: 0 };
      await expect(store.replaceLease('majority', undefined, lease)).rejects.toMatchObject(refusal);
    });

    it('does not advance a position past writes that were cut off or refused, except for a duplicate key', async () => {
      for (const fault of [
        'lose the answer',
        'cut',
        { answer: { n: 0, writeErrors: [{ ...duplicate, code: 14_031, errmsg: 'out of disk space' }] } },
        {
          answer: {
            ok: 0,
            code: 10_107,
            codeName: 'NotWritablePrimary',
            errmsg: 'not primary',
            writeErrors: undefined,
          },
        },
      ] as const) {
        once(writesTo('faults'), fault);
        await expect(put('cut', 1)).rejects.toMatchObject(refusal);
        expect(await store.position('cut')).toBe(0);
      }
      await eventually(() => put('cut', 2).then(() => true), 10_000, 'it must find the server again');
      expect(await stored('cut')).toBe(2);
    });

    it('repeats a write that met a duplicate key, because the stored document may be older', async () => {
      let writes = 0;
      link.fault = (command) => {
        if (writesTo('faults')(command)) writes += 1;
        return writes === 1 ? { answer: { n: 0, writeErrors: [duplicate] } } : undefined;
      };
      await put('duplicate', 8);
      expect([writes, await stored('duplicate'), await store.position('duplicate')]).toEqual([2, 8, 8]);
    });

    it.each([
      ['', 'production', 'majority'],
      ['&w=1', 'test', 1],
    ] as const)(
      'reads what a majority has, whatever the URL says, and writes with w=majority unless the URL sets w: %s',
      async (option, environment, w) => {
        const commands: Document[] = [];
        link.fault = (command) => {
          commands.push(command);
          return undefined;
        };
        const url = `${link.url}&readConcernLevel=local&readPreference=secondaryPreferred${option}`;
        const other = await connect(url, environment);
        await other.define([{ name: 'faults', indexes: [] }]);
        for (const isNew of [true, false]) {
          const change = {
            collection: 'faults',
            id: `${environment} ${String(isNew)}`,
            position: 1,
            document: {},
            isNew,
          };
          await other.apply('concerns', [change], 1);
        }
        const lease = { holder: 'a', epoch: 1, renewals: 0 };
        await other.replaceLease(environment, undefined, lease);
        await other.replaceLease(environment, lease, { ...lease, renewals: 1 });
        await Promise.all([other.position('concerns'), other.lease('concerns'), other.getMany('faults', ['a'])]);
        await Promise.all([other.find('faults', {}), other.count('faults', {})]);
        await other.close();
        const sentTo = (...names: string[]) =>
          commands.flatMap((sent) => names.flatMap((name) => (name in sent ? [[sent[name] as string, sent]] : [])));
        const writes = sentTo('insert', 'update');
        const reads = sentTo('find', 'aggregate');
        for (const sent of [writes, reads]) {
          expect(new Set(sent.map(([collection]) => collection))).toEqual(new Set(['faults', '_positions', '_leases']));
        }
        for (const [, command] of writes) expect(command).toMatchObject({ writeConcern: { w } });
        for (const [, command] of reads) expect(command).toMatchObject({ readConcern: { level: 'majority' } });
      },
    );

    it('names a document that is too large, and then stores smaller ones', async () => {
      await expect(put('large', 1, { text: 'x'.repeat(17 * 2 ** 20) })).rejects.toThrow(
        /document large of faults cannot be stored/,
      );
      expect(await store.position('large')).toBe(0);
      await put('large', 2, { text: 'x'.repeat(2 ** 20) });
      expect(await stored('large')).toBe(2);
    });
  });
});
