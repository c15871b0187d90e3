import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { SqliteEventStore } from '../../../shared/event-store/embedded/event-store.sqlite.ts';
import { everyKey } from '../../../shared/key-vault/every-key.ts';
import { MongoKeyVault } from '../../../shared/key-vault/mongodb/key-vault.mongo.ts';
import { SqliteKeyVault } from '../../../shared/key-vault/embedded/key-vault.sqlite.ts';
import { vaultDatabase, type KeyVault } from '../../../shared/key-vault/key-vault.ts';
import { sealedIn } from '../../../shared/key-vault/sealed-before.ts';
import { wrappingKeyOf } from '../../../shared/key-vault/sealed-keys.ts';
import { VaultKeys } from '../../../shared/key-vault/vault-keys.ts';
import { tryOpenText } from '../../../shared/keys/sealed-text.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { emptyDatabase } from '../../../shared/testing/engines/drop-databases.mongo.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { RunningProcess } from '../../../shared/testing/processes/running-process.ts';
import type { SeededRandom } from '../../../shared/testing/simulation/seeded-random.ts';
import { testSettings } from '../../../shared/testing/processes/whole-program.ts';

const COMMAND_LINE = 'services/standalone/annals.js';
const CHAINS = JSON.stringify([{ chainId: 1, rpcUrls: ['http://127.0.0.1:1'] }]);
const LOST = 'is empty or restored in part';
const START_MS = 90_000;
/** About as long as a command takes. */
const KILLED_WITHIN_MS = 1_500;

interface Engines {
  MONGO_URL: string;
  MONGO_DATABASE: string;
}

export type Step = 'add' | 'backup' | 'lose' | 'look' | 'start' | 'restore' | 'replace' | 'rewrap' | 'rotate';

/** What an installation's keys must be, whatever is done to its vault. */
export class VaultUnderTest {
  private masterKey: Buffer = randomBytes(32);
  private formerKey: Buffer = this.masterKey;
  /** Each key that was made, and is not lost with the vault, by id. */
  private keys = new Map<string, string>();
  private backup: { file: string; keys: ReadonlyMap<string, string>; masterKey: Buffer } | undefined;
  private isLost = false;
  private hasStarted = false;
  private made = 0;

  constructor(
    private readonly folder: string,
    private readonly engines: Engines | undefined,
    private readonly random: SeededRandom,
  ) {}

  /** Carries out a step: first killed at some moment, then once more until its end. Keys are compared after both. */
  async take(step: Step): Promise<void> {
    await this.steps[step]();
  }

  private readonly steps: Record<Step, () => Promise<void>> = {
    add: async () => {
      await this.withVault(async (vault) => {
        const eventStore = new SqliteEventStore(join(this.folder, 'events.db'));
        this.made += 1;
        const keys = new VaultKeys(vault, this.masterKey, systemClock, sealedIn(eventStore));
        await keys.dataKey(`usr_${String(this.made)}`);
        await eventStore.close();
      });
      await this.compare('add', /^(data|owner)-/);
    },
    backup: async () => {
      const [cut, file] = [this.newFile('cut'), this.newFile('backup')];
      await this.killed(['vault', 'backup', cut]);
      await this.run(['vault', 'backup', file], this.isLost ? LOST : undefined);
      if (!this.isLost) this.backup = { file, keys: new Map(this.keys), masterKey: this.masterKey };
      await this.compare('backup');
    },
    lose: async () => {
      if (this.engines) await emptyDatabase(this.engines.MONGO_URL, vaultDatabase(this.engines.MONGO_DATABASE));
      else
        for (const name of readdirSync(this.folder).filter((one) => one.startsWith('vault.db')))
          rmSync(join(this.folder, name));
      this.isLost = true;
      // The operator has what the backup has, and sets the key that it was made with.
      this.keys = new Map(this.backup?.keys);
      this.masterKey = this.backup?.masterKey ?? this.masterKey;
      this.formerKey = this.masterKey;
    },
    look: async () => {
      for (const args of [
        ['vault', 'status'],
        ['audit', 'export', 'usr_1'],
        ['chain', 'status', '--chain', '1'],
        ['sessions', 'end', 'usr_1'],
      ]) {
        await this.killed(args);
        if (this.isLost) await this.run(args, LOST);
        else await this.process(args).ended();
        await this.compare(args.join(' '));
      }
    },
    start: async () => {
      await this.killed(['account']);
      const makes = this.hasStarted ? undefined : /./;
      await this.compare('start, killed', makes);
      if (this.isLost) await this.run(['account'], LOST);
      else await this.startOnce();
      await this.compare('start', makes);
      this.hasStarted = true;
    },
    restore: () => this.restore([]),
    replace: () => this.restore(['--replace']),
    rewrap: async () => {
      const from = this.newFile('former');
      writeFileSync(from, this.masterKey.toString('base64'));
      if (!this.isLost) [this.formerKey, this.masterKey] = [this.masterKey, randomBytes(32)];
      await this.killed(['vault', 'rewrap', '--from', from]);
      await this.compare('rewrap, killed');
      await this.run(['vault', 'rewrap', '--from', from], this.isLost ? LOST : undefined);
      this.formerKey = this.masterKey;
      await this.compare('rewrap');
    },
    rotate: async () => {
      await this.killed(['keys', 'rotate']);
      await this.compare('keys rotate, killed', /^token-signing-/);
      await this.run(['keys', 'rotate'], this.isLost ? LOST : undefined);
      await this.compare('keys rotate', /^token-signing-/);
    },
  };

  private async restore(options: string[]): Promise<void> {
    const { file, masterKey } = this.backup ?? { file: '', masterKey: this.masterKey };
    const args = ['vault', 'restore', ...options, file];
    await this.killed(args);
    await this.compare('restore, killed', undefined, this.isLost);
    await this.run(args, masterKey.equals(this.masterKey) ? undefined : 'master key');
    this.isLost = false;
    await this.compare('restore');
  }

  private async startOnce(): Promise<void> {
    const account = this.process(['account']);
    try {
      await eventually(
        () => {
          if (account.hasEnded) throw new Error(account.lastLines);
          return account.output.includes('annals account is ready');
        },
        START_MS,
        'account must start',
      );
    } finally {
      await account.kill();
    }
  }

  private async killed(args: readonly string[]): Promise<void> {
    const started = this.process(args);
    await pause(this.random.between(0, KILLED_WITHIN_MS));
    await started.kill();
  }

  /** @param refusal what it must say where it must fail */
  private async run(args: readonly string[], refusal: string | undefined): Promise<void> {
    const command = this.process(args);
    const code = await command.ended();
    const isRight = refusal === undefined ? code === 0 : code === 1 && command.output.includes(refusal);
    if (!isRight) throw new Error(`${args.join(' ')} ended with ${String(code)}: ${command.lastLines}`);
  }

  private process(args: readonly string[]): RunningProcess {
    return RunningProcess.spawn(args.join(' '), [COMMAND_LINE, ...args], {
      ...testSettings,
      ...this.engines,
      DATA_DIR: this.folder,
      MASTER_KEY: this.masterKey.toString('base64'),
      METRICS_PORT: 'off',
      // A start asks the chain; commands only read.
      ...(args[0] === 'chain' && { CHAINS }),
    });
  }

  /** @param makes the ids of keys that the step may make */
  private async compare(step: string, makes?: RegExp, isPartial = false): Promise<void> {
    const [now, former] = [wrappingKeyOf(this.masterKey), wrappingKeyOf(this.formerKey)];
    const missing = new Set(this.keys.keys());
    await this.withVault(async (vault) => {
      for await (const { id, sealed } of everyKey(vault)) {
        const opened = tryOpenText(now, id, sealed ?? '') ?? tryOpenText(former, id, sealed ?? '');
        const known = this.keys.get(id);
        missing.delete(id);
        if (opened === undefined) throw new Error(`after ${step} the key ${id} cannot be opened`);
        if (known !== undefined && known !== opened) throw new Error(`after ${step} ${id} is another key`);
        if (known !== undefined) continue;
        if (this.isLost || !makes?.test(id)) throw new Error(`${step} has made the key ${id}`);
        this.keys.set(id, opened);
      }
    });
    if (this.isLost && !isPartial && missing.size < this.keys.size) throw new Error(`${step} has made keys`);
    if (!this.isLost && missing.size > 0) throw new Error(`after ${step} these are lost: ${[...missing].join(', ')}`);
  }

  private async withVault(work: (vault: KeyVault) => Promise<void>): Promise<void> {
    const vault = await this.open();
    try {
      await work(vault);
    } finally {
      await vault.close();
    }
  }

  private open(): Promise<KeyVault> {
    if (!this.engines) return Promise.resolve(new SqliteKeyVault(join(this.folder, 'vault.db')));
    const { settings } = loadSettings({ ...this.engines });
    return MongoKeyVault.connect({
      settings: { ...settings, MONGO_URL: this.engines.MONGO_URL },
      logger: pino({ level: 'silent' }),
    });
  }

  private newFile(name: string): string {
    this.made += 1;
    return join(this.folder, `${name}-${String(this.made)}`);
  }
}
