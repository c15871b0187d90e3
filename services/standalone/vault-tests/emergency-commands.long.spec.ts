import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { vaultDatabase } from '../../../shared/key-vault/key-vault.ts';
import { dropDatabases, emptyDatabase } from '../../../shared/testing/engines/drop-databases.mongo.ts';
import { EventStoreServer } from '../../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { RunningProcess } from '../../../shared/testing/processes/running-process.ts';
import { ServiceProcess } from '../../../shared/testing/processes/running-processes.ts';
import { whereServer } from '../../../shared/testing/engines/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { testSettings } from '../../../shared/testing/processes/whole-program.ts';

jest.setTimeout(600_000);

const README = readFileSync(join(import.meta.dirname, '..', '..', '..', 'deploy', 'README.md'), 'utf8');
const VAULT_SERVICES = ['account', 'projector'] as const;
type Service = (typeof VAULT_SERVICES)[number];

/** The lines of the fenced commands below a heading, as an operator types them. */
const commandsBelow = (heading: string): string[][] => {
  const [, section = ''] = README.split(`\n${heading}\n`);
  const [own = ''] = section.split(/\n#{1,6} /);
  return Array.from(own.matchAll(/```sh\n([\s\S]*?)```/g), ([, block = '']) =>
    block.split('\n').flatMap((line) => line.replace(/\s+#.*/, '').trim() || []),
  );
};

/** Carries out what an operator types, with processes in the place of containers. */
class TypedCommands {
  private readonly services = new Map<Service, ServiceProcess>();
  readonly typed: string[] = [];

  constructor(
    private readonly folder: string,
    private readonly settings: Record<string, string>,
  ) {}

  async type(line: string): Promise<string> {
    this.typed.push(line);
    const words = line.replaceAll('/data/', `${this.folder}/`).split(' ');
    const command = words.slice(2).filter((word) => word !== '-T' && word !== '--rm');
    const [verb, ...rest] = command;
    if (verb === 'exec' && rest[0] === 'account' && rest[1] === 'annals') return this.annals(rest.slice(2));
    if (verb === 'run' && rest[0] === 'account') return this.annals(rest.slice(1));
    const named = rest.filter((word): word is Service => VAULT_SERVICES.some((name) => name === word));
    if (named.length === 0) throw new Error(`nothing here does what "${line}" does`);
    if (verb === 'stop') await this.stop(named);
    else await this.start(named);
    return '';
  }

  async start(names: readonly Service[] = VAULT_SERVICES): Promise<void> {
    const started = names.map((name) => {
      const service = new ServiceProcess(name, this.settings);
      this.services.set(name, service);
      return service.ready();
    });
    await Promise.all(started);
  }

  async stop(names: readonly Service[] = VAULT_SERVICES): Promise<void> {
    for (const name of names) await this.services.get(name)?.process.stop();
  }

  /** Returns what a start says that fails. */
  async refused(name: Service): Promise<string> {
    const { process } = new ServiceProcess(name, this.settings);
    expect(await process.ended()).toBe(1);
    return process.output;
  }

  private async annals(args: readonly string[]): Promise<string> {
    const command = RunningProcess.spawn(args.join(' '), ['services/standalone/annals.js', ...args], {
      ...testSettings,
      ...this.settings,
    });
    if ((await command.ended()) !== 0) throw new Error(command.lastLines);
    return command.output;
  }
}

const emergencies = (
  name: string,
  begin: (folder: string) => Promise<{ settings: Record<string, string>; loseVault: () => Promise<void> }>,
): void => {
  it(`the commands of deploy/README.md for the key vault do what they are for, on ${name}`, async () => {
    const folder = join(temporary, name.replaceAll(/\W/g, '-'));
    mkdirSync(folder);
    const { settings, loseVault } = await begin(folder);
    const commands = new TypedCommands(folder, { DATA_DIR: folder, ...settings });
    const [backup = [], restore = [], replace = [], rewrap = [], ...others] = commandsBelow('### The key vault');
    expect([backup.length, restore.length, replace.length, rewrap.length, others.length]).toEqual([2, 1, 3, 3, 1]);
    const all = async (lines: readonly string[]) => {
      let output = '';
      for (const line of lines) output += await commands.type(line);
      return output;
    };
    try {
      await commands.start();
      expect(await all(backup)).toContain('4 keys, 0 of them destroyed');

      // Beside what still runs, as when somebody else removes the database.
      expect(await all(restore)).toContain('0 keys restored, 4 were there');

      await commands.stop();
      await loseVault();
      for (const service of VAULT_SERVICES) expect(await commands.refused(service)).toContain('annals vault restore');
      expect(await all(restore)).toContain('4 keys restored');
      await commands.start();

      expect(await all(replace)).toContain('4 were there, 0 replaced');

      const master = join(folder, 'master.key');
      copyFileSync(master, join(folder, 'old.key'));
      await commands.stop();
      writeFileSync(master, randomBytes(32).toString('base64'));
      for (const service of VAULT_SERVICES) expect(await commands.refused(service)).toContain('is not the master key');
      expect(await all(rewrap)).toContain('4 keys of');
    } finally {
      await commands.stop();
    }
  });
};

const temporary = temporaryFolder();

describe('in an emergency', () => {
  emergencies('embedded stores', (folder) =>
    Promise.resolve({
      settings: {},
      loseVault: () => {
        for (const file of readdirSync(folder).filter((one) => one.startsWith('vault.db'))) rmSync(join(folder, file));
        return Promise.resolve();
      },
    }),
  );

  whereServer('MONGO_URL', (MONGO_URL) => {
    const MONGO_DATABASE = `annals-test-${String(process.pid)}-emergency`;
    let eventStore: EventStoreServer | undefined;
    afterAll(async () => {
      await eventStore?.close();
      await dropDatabases(MONGO_URL, [MONGO_DATABASE]);
      await emptyDatabase(MONGO_URL, vaultDatabase(MONGO_DATABASE));
    });

    emergencies('EventStoreDB and MongoDB', async () => {
      eventStore = await EventStoreServer.start();
      return {
        settings: { MONGO_URL, MONGO_DATABASE, EVENTSTORE_URL: eventStore.url },
        loseVault: () => emptyDatabase(MONGO_URL, vaultDatabase(MONGO_DATABASE)),
      };
    });
  });
});
