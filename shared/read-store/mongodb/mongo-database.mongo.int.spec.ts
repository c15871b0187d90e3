import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { MongoClient, type Document } from 'mongodb';
import { pino, type Logger } from 'pino';
import { eventually } from '../../testing/eventually.ts';
import { MongoLink } from '../../testing/engines/mongo-link.mongo.ts';
import { whereServer } from '../../testing/engines/servers.ts';
import { openDatabase, type MongoDatabase, type MongoOptions } from './mongo-database.mongo.ts';

const MONGO_DATABASE = `annals-test-${String(process.pid)}`;

/** No answer is too late, however slow the machine is. */
const PATIENT = { answerMs: 3_600_000, selectionMs: 60_000 };
/** For a server that never answers. */
const HURRIED = { answerMs: 500, selectionMs: 500 };

describe('opening a MongoDB database', () => {
  const warnings: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => warnings.push(line) });
  const open = async (
    MONGO_URL: string,
    NODE_ENV: 'development' | 'production' = 'production',
    limits: MongoOptions['limits'] = PATIENT,
  ) => {
    const database = await openDatabase({ settings: { MONGO_URL, MONGO_DATABASE, NODE_ENV }, logger, limits });
    await database.close();
  };
  const cannotStart = (message: RegExp) =>
    expect.objectContaining({ name: 'CannotStart', message: expect.stringMatching(message) });

  it('names the hosts that do not answer, without the password', async () => {
    await expect(
      open('mongodb://me:hush@127.0.0.1:1,127.0.0.1:2/?replicaSet=r', 'production', HURRIED),
    ).rejects.toEqual(
      cannotStart(/^MONGO_URL: no MongoDB answers at 127\.0\.0\.1:1, 127\.0\.0\.1:2 as the replica set r \((?!.*hush)/),
    );
  });

  it('names the file that cannot be read', async () => {
    await expect(open('mongodb://me:hush@127.0.0.1:1/?tls=true&tlsCAFile=/none.pem')).rejects.toEqual(
      cannotStart(/^MONGO_URL: .*no such file or directory, open '\/none\.pem'/),
    );
  });

  it('names what the driver cannot parse, without the password', async () => {
    await expect(open('mongodb://me:hush@127.0.0.1/?colour=red')).rejects.toEqual(
      cannotStart(/^MONGO_URL: the driver cannot read it: option colour is not supported$/),
    );
    await expect(open('mongodb://me:hu/sh@127.0.0.1')).rejects.toEqual(cannotStart(/^MONGO_URL: (?!.*(hu|sh@))/));
  });

  whereServer('MONGO_URL', (MONGO_URL) => {
    let link: MongoLink;
    beforeAll(async () => {
      link = await MongoLink.open(MONGO_URL);
    });
    afterEach(() => {
      link.fault = () => undefined;
      link.isAway = false;
      warnings.length = 0;
    });
    afterAll(async () => {
      await link.close();
      const client = new MongoClient(MONGO_URL);
      await client.db(MONGO_DATABASE).dropDatabase();
      await client.close();
    });
    const withOptions = (options: string) => `${link.url}&${options}`;
    const answerTo = (name: string, answer: Document) => {
      link.fault = (command) => (name in command ? { answer } : undefined);
    };

    /** Opens a database that soon gives up and replaces its client. */
    const openHurried = (to: Logger) => {
      const settings = { MONGO_URL: link.url, MONGO_DATABASE, NODE_ENV: 'test' } as const;
      const limits = { selectionMs: 1_000, replacedAfterMs: 0 };
      const opened = () => openDatabase({ settings, logger: to, limits });
      return eventually(opened, 25_000, 'the server must be found in as little time');
    };

    it('finds a server again that the driver no longer looks for', async () => {
      const database = await openHurried(logger);
      stopMonitors(database);
      link.cut();
      const ask = () => database.withDeadline(database.db.collection('any').countDocuments());
      await expect(ask()).rejects.toMatchObject({ code: 'dependency_unavailable' });
      const isAnswered = () => ask().then(() => true);
      await eventually(isAnswered, 25_000, 'another client must find the server');
      await database.close();
    });

    it('finds a server again that was away until its client was replaced', async () => {
      const logged: string[] = [];
      const database = await openHurried(pino({ level: 'debug' }, { write: (line: string) => logged.push(line) }));
      const isAnswered = () => database.withDeadline(database.db.collection('any').countDocuments()).then(() => true);
      link.isAway = true;
      link.cut();
      const isAnotherTried = async () => {
        await expect(isAnswered()).rejects.toMatchObject({ code: 'dependency_unavailable' });
        return logged.some((line) => line.includes('a new MongoDB client reaches no server either'));
      };
      await eventually(isAnotherTried, 25_000, 'another client must look for the server');
      link.isAway = false;
      await eventually(isAnswered, 25_000, 'the server must be found');
      await database.close();
    });

    it('reports that the server refuses the credentials', async () => {
      answerTo('saslStart', { ok: 0, code: 18, codeName: 'AuthenticationFailed', errmsg: 'Authentication failed.' });
      const url = link.url.replace('://', '://me:hush@');
      await expect(open(url)).rejects.toEqual(
        cannotStart(/^MONGO_URL: .* does not accept the user name and password$/),
      );
    });

    it.each([
      ['the user is not authorized', { ok: 0, code: 13, codeName: 'Unauthorized', errmsg: 'not authorized' }],
      ['NotWritablePrimary', { ok: 0, code: 10_107, codeName: 'NotWritablePrimary', errmsg: 'not primary' }],
    ])('reports that the database cannot be written: %s', async (reason, answer) => {
      answerTo('update', answer);
      await expect(open(link.url)).rejects.toEqual(
        cannotStart(new RegExp(`^MONGO_URL: cannot write to the database ${MONGO_DATABASE}: ${reason}$`)),
      );
    });

    it('gives up on a server that hangs', async () => {
      link.fault = (command) => ('update' in command ? 'hang' : undefined);
      await expect(open(link.url, 'production', { ...PATIENT, answerMs: 500 })).rejects.toEqual(
        cannotStart(/^MONGO_URL: cannot write .* no answer within 500 ms$/),
      );
    });

    it.each(['w=1', 'w=2', 'w=site', 'journal=false', 'w=majority&journal=false'])(
      'refuses to start in production when an acknowledged write can be lost, and warns elsewhere: %s',
      async (options) => {
        await expect(open(withOptions(options))).rejects.toEqual(cannotStart(/^MONGO_URL: .* can be lost, because /));
        expect(warnings).toEqual([]);
        await open(withOptions(options), 'development');
        expect(warnings).toEqual([expect.stringMatching(/MONGO_URL: .* can be lost, because /)]);
      },
    );

    it('always refuses unacknowledged writes', async () => {
      await expect(open(withOptions('w=0'), 'development')).rejects.toEqual(cannotStart(/^MONGO_URL: w=0 /));
    });

    it('refuses to start in production when the default write concern of the server is below majority, unless the URL sets it', async () => {
      answerTo('getDefaultRWConcern', { ok: 1, code: undefined, defaultWriteConcern: { w: 1, wtimeout: 0 } });
      await expect(open(link.url)).rejects.toEqual(
        cannotStart(/ because the server's default write concern is 1: set w=majority$/),
      );
      await open(withOptions('w=majority'));
      await open(link.url, 'development');
      expect(warnings).toHaveLength(1);
    });

    it('opens in production when the write concern is majority, or not set', async () => {
      await open(withOptions('w=majority&journal=true&wtimeoutMS=1000'));
      await open(link.url);
      expect(warnings).toEqual([]);
    });
  });
});

/** Reproduces the fault of the driver: the server's monitor ends without an error. */
const stopMonitors = (database: MongoDatabase): void => {
  interface Watched {
    client: { topology: { s: { servers: Map<string, { monitor: { close: () => void } }> } } };
  }
  for (const { monitor } of (database as unknown as Watched).client.topology.s.servers.values()) monitor.close();
};
