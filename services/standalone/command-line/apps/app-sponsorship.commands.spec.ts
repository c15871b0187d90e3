import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import { z } from 'zod';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import { folderWithStores } from '../../../../shared/testing/engines/folder-with-stores.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { appCommand } from './app.commands.ts';

const DATA_DIR = await folderWithStores(temporaryFolder());
const TOKEN = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const CHAINS = JSON.stringify([1, 137].map((chainId) => ({ chainId, rpcUrls: ['http://127.0.0.1:9'] })));
const OTHER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';

/** Makes a command and its subcommands throw where a process would end. */
const throwing = (command: Command): Command => {
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  command.commands.forEach(throwing);
  return command;
};

const annalsApp = async (...args: string[]): Promise<string> => {
  const environment = jest.replaceProperty(process, 'env', { DATA_DIR, CHAINS });
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await throwing(appCommand()).parseAsync(args, { from: 'user' });
    return write.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    write.mockRestore();
    environment.restore();
  }
};
const json = async (...args: string[]): Promise<unknown> => JSON.parse(await annalsApp(...args, '--json'));

describe('annals app policy and annals app sponsorship', () => {
  const create = async () =>
    z.object({ id: z.string() }).parse(await json('create', '--name', 'Shop', '--origin', 'https://shop.example')).id;
  const set = (id: string, ...options: string[]) =>
    json('policy', 'set', id, '--chain', '137', '--no-limit', ...options);
  const none = { dayWei: null, userDayWei: null, operationWei: null, allow: [], anySession: false };

  it('sets a policy for a chain in place of the one before, shows and removes it', async () => {
    const id = await create();
    expect(await set(id, '--day', '100', '--user-day', '010', '--operation', '1', '--any-session')).toEqual({
      appId: id,
      policies: [{ chainId: 137, ...none, dayWei: '100', userDayWei: '10', operationWei: '1', anySession: true }],
    });
    expect(await set(id, '--user-day', '5')).toEqual({
      ...{ appId: id, policies: [{ chainId: 137, ...none, userDayWei: '5' }] },
    });
    expect(await annalsApp('policy', 'show', id)).toMatch(/chain 137\n {2}a day +no limit\n {2}a user and day +5 wei/);
    expect(await json('policy', 'remove', id, '--chain', '137')).toEqual({ appId: id, policies: [] });
    expect(await annalsApp('policy', 'show', id)).toBe('the app pays for nothing\n');
  });

  it('gathers the selectors of a target, which any selector makes needless', async () => {
    const allow = (...allowed: string[]) => allowed.flatMap((one) => ['--allow', one]);
    const id = await create();
    const options = allow(`${TOKEN.toLowerCase()}:0xA9059CBB`, `${TOKEN}:0x`, `${TOKEN}:0xa9059cbb`, OTHER);
    const selectors = ['0xa9059cbb', '0x'];
    const both = [
      { target: TOKEN, selectors },
      { target: OTHER, selectors: null },
    ];
    expect(await set(id, ...options)).toMatchObject({ policies: [{ allow: both }] });
    const anySelector = [{ allow: [{ target: TOKEN, selectors: null }] }];
    expect(await set(id, ...allow(`${TOKEN}:0x`, TOKEN))).toMatchObject({ policies: anySelector });
    expect(await set(id, ...allow(TOKEN, `${TOKEN}:0x`))).toMatchObject({ policies: anySelector });
  });

  it('stores nothing for a policy that is so already', async () => {
    const id = await create();
    for (let time = 0; time < 2; time += 1) await set(id, '--day', '100', '--allow', `${TOKEN}:0x`);
    const store = new SqliteEventStore(join(DATA_DIR, 'events.db'));
    expect((await store.read(`app-${id}`)).map(({ type }) => type)).toEqual(['AppRegistered', 'AppPolicyChanged']);
    await store.close();
  });

  it.each([
    [['--allow', '0x1234'], /not an address/],
    [['--allow', TOKEN.replace('C8', 'c8')], /not an address/],
    [['--allow', `${TOKEN}:`], /selector is not 0x, or 0x and 8 hex digits/],
    [['--allow', `${TOKEN}:0xa9059c`], /selector is not 0x, or 0x and 8 hex digits/],
    [['--day', '1.5'], /not an amount of wei/],
    [['--user-day', '-1'], /not an amount of wei/],
    [['--operation', '0x10'], /not an amount of wei/],
    [['--chain', 'mainnet'], /not the id of a chain/],
  ])('refuses %j', async (options, why) => {
    await expect(annalsApp('policy', 'set', 'app_1', '--chain', '137', ...options)).rejects.toThrow(why);
  });

  it('refuses a limit that is left out, and a chain that is not served', async () => {
    const id = await create();
    const policy = (...options: string[]) => annalsApp('policy', 'set', id, ...options);
    await expect(policy('--chain', '137', '--day', '1')).rejects.toThrow(
      '--user-day, --operation: say how much, or say --no-limit',
    );
    await policy('--chain', '137', '--day', '3', '--user-day', '2', '--operation', '1');
    await expect(policy('--chain', '999', '--no-limit')).rejects.toThrow('CHAINS does not name chain 999');
    expect(await annalsApp('policy', 'show', id)).not.toMatch(/\b999\b/);
  });

  it('refuses an app that is unknown or revoked', async () => {
    for (const command of ['show', 'set', 'remove']) {
      const chain = command === 'show' ? [] : ['--chain', '1', ...(command === 'set' ? ['--no-limit'] : [])];
      await expect(annalsApp('policy', command, 'app_unknown', ...chain)).rejects.toThrow('no app has this id');
    }
    await expect(annalsApp('sponsorship', 'app_unknown')).rejects.toThrow('no app has this id');
    const id = await create();
    await annalsApp('revoke', id);
    await expect(set(id)).rejects.toThrow('app_revoked');
  });

  it('shows what a day paid, with the limit of the policy', async () => {
    const id = await create();
    await set(id, '--day', '100');
    const chain = { chainId: 137, dayWei: '100', reserved: '0', settled: '0', operations: 0 };
    expect(await json('sponsorship', id, '--day', '2026-01-31')).toEqual({
      ...{ appId: id, day: '2026-01-31', chains: [chain] },
    });
    expect(await json('sponsorship', id)).toMatchObject({ day: new Date().toISOString().slice(0, 10) });
    expect(await annalsApp('sponsorship', id)).toContain('chain 137  reserved 0 wei, settled 0 wei, of 100 wei');
    for (const day of ['2026-02-30', '2026-13-01', '31.1.2026']) {
      await expect(annalsApp('sponsorship', id, '--day', day)).rejects.toThrow(/not a day: YYYY-MM-DD/);
    }
  });

  it('has help with an example for each command', () => {
    const policy = appCommand().commands.find((one) => one.name() === 'policy');
    for (const command of policy?.commands ?? []) {
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => Infinity }).outputHelp();
      expect(help).toMatch(new RegExp(`Example:\\n  annals app policy ${command.name()} `));
    }
  });
});
