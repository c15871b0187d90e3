import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { loadSettings } from '../../config/load-settings.ts';
import { CannotStart } from '../../errors/cannot-start.ts';
import { usersModel } from '../../read-models/account/users.ts';
import { anEvent } from '../../testing/event-builder.ts';
import type { MessageBus } from '../../message-bus/message-bus.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { closeEngines, describeEngines, everyEngine, openEngines } from './engines.ts';

const logger = pino({ level: 'silent' });
const settingsOf = (environment: Record<string, string>) => loadSettings(environment).settings;

describe('the engines of a process', () => {
  const DATA_DIR = temporaryFolder();
  const damaged = temporaryFolder();

  it('are the requested ones, ready for use', async () => {
    const engines = await openEngines(settingsOf({ DATA_DIR }), logger, ['eventStore', 'readStore']);
    expect(Object.keys(engines)).toEqual(['eventStore', 'readStore']);
    await engines.eventStore.append('user-0x1', -1, [anEvent({ type: 'UserRegistered' })]);
    expect(await engines.readStore.find(usersModel.collections.user.name, {})).toEqual([]);
    await closeEngines(engines);
  });

  it.each([
    ['annals.users.v1', 12],
    ['annals.transactions.v1', 12],
    ['annals.contracts.v1', 3],
    ['annals.chain-events.v1', 12],
    ['annals.users.v1.parked', 3],
    ['annals.transactions.v1.parked', 3],
    ['annals.contracts.v1.parked', 3],
    ['annals.chain-events.v1.parked', 3],
  ])(
    'have the topic %s from the first start on, with %i partitions or as many as the operator sets',
    async (name, partitions) => {
      const open = async (environment: Record<string, string>) =>
        (await openEngines(settingsOf(environment), logger, ['messageBus'])).messageBus;
      const partitionsOf = async (bus: MessageBus) =>
        (await bus.offsets({ name, partitions, retentionMs: null }, 'latest')).size;
      const usual = await open({ DATA_DIR });
      expect(await partitionsOf(usual)).toBe(partitions);
      await usual.close();
      const TOPIC_PARTITIONS = JSON.stringify({ [name]: 5 });
      const other = await open({ DATA_DIR: join(DATA_DIR, name), TOPIC_PARTITIONS });
      expect(await partitionsOf(other)).toBe(5);
      await other.close();
    },
  );

  it('are described without the secrets in their addresses', () => {
    const settings = settingsOf({
      DATA_DIR,
      EVENTSTORE_URL: 'esdb://admin:hush@events.example:2113?tls=true',
      KAFKA_BROKERS: 'one.example:9092,two.example:9092',
      KAFKA_SASL: '{"mechanism":"plain","username":"annals","password":"hush"}',
    });
    expect(describeEngines(settings, everyEngine)).toEqual({
      eventStore: 'esdb://events.example:2113/…',
      messageBus: 'kafka://one.example:9092,two.example:9092',
      readStore: `embedded in ${resolve(DATA_DIR)}`,
      keyVault: `embedded in ${resolve(DATA_DIR)}`,
    });
  });

  it('are all closed when one cannot be opened, and the error names each that cannot', async () => {
    for (const file of ['bus.db', 'read.db']) writeFileSync(join(damaged, file), 'damaged '.repeat(1_000));
    const opening = openEngines(settingsOf({ DATA_DIR: damaged }), logger, everyEngine);
    await expect(opening).rejects.toThrow(CannotStart);
    await expect(opening).rejects.toThrow(/bus\.db is damaged .*; .*read\.db is damaged /);
  });
});
