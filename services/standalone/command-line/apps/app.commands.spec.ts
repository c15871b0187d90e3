import { describe, expect, it, jest } from '@jest/globals';
import { computeAddress } from 'ethers';
import { z } from 'zod';
import { folderWithStores } from '../../../../shared/testing/engines/folder-with-stores.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { appCommand } from './app.commands.ts';

const DATA_DIR = await folderWithStores(temporaryFolder());

const annalsApp = async (...args: string[]): Promise<string> => {
  const environment = jest.replaceProperty(process, 'env', { DATA_DIR });
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await appCommand().parseAsync(args, { from: 'user' });
    return write.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    write.mockRestore();
    environment.restore();
  }
};

const keys = z.object({ id: z.string(), apiKey: z.string(), signingKey: z.string() });
const listed = z.array(
  z.object({
    id: z.string(),
    signers: z.array(z.string()),
    serverSigners: z.array(z.string()),
    origins: z.array(z.string()),
    redirectUris: z.array(z.string()),
    allowsBot: z.boolean(),
    isThirdParty: z.boolean(),
    isRevoked: z.boolean(),
  }),
);

describe('annals app', () => {
  const create = async () =>
    keys.parse(JSON.parse(await annalsApp('create', '--name', 'Shop', '--origin', 'https://shop.example', '--json')));
  const find = async (id: string) => {
    const apps = listed.parse(JSON.parse(await annalsApp('list', '--json')));
    return apps.find((app) => app.id === id);
  };

  it('rotates the key of an app, and shows the new one once', async () => {
    const app = await create();
    const rotated = keys.parse(JSON.parse(await annalsApp('rotate', app.id, '--json')));
    expect(rotated).toMatchObject({ id: app.id, apiKey: app.apiKey });
    expect(rotated.signingKey).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await annalsApp('rotate', app.id)).toMatch(/signing key +0x[0-9a-f]{64} +\(shown once: keep it\)/);
    expect((await find(app.id))?.signers).toHaveLength(2);
    expect(await annalsApp('list', '--json')).not.toContain(rotated.signingKey.slice(2));
  });

  it("creates an app of somebody else's, and trusts and distrusts it", async () => {
    const created = await annalsApp(
      'create',
      '--name',
      'X',
      '--origin',
      'https://x.example',
      '--third-party',
      '--json',
    );
    const { id } = keys.parse(JSON.parse(created));
    expect(JSON.parse(created)).toMatchObject({ isThirdParty: true });
    expect((await find(id))?.isThirdParty).toBe(true);
    expect(await annalsApp('trust', id)).not.toContain('third party');
    expect((await find(id))?.isThirdParty).toBe(false);
    expect(await annalsApp('distrust', id)).toContain('third party');
  });

  it('creates a server key, shows it once, and revokes it by its address or with all', async () => {
    const { id, apiKey } = await create();
    const created = z.object({ serverKey: z.string(), address: z.string() }).loose();
    const first = created.parse(JSON.parse(await annalsApp('server-key', 'create', id, '--json')));
    expect(first).toMatchObject({ id, apiKey, address: computeAddress(first.serverKey) });
    expect(await annalsApp('server-key', 'create', id)).toMatch(/server key +0x[0-9a-f]{64} +\(shown once/);
    expect((await find(id))?.serverSigners).toEqual([expect.stringMatching(/^0x/), first.address]);
    expect(await annalsApp('list', '--json')).not.toContain(first.serverKey.slice(2));
    expect(await annalsApp('server-key', 'revoke', id, '--address', first.address)).toMatch(/left: 0x\w{40}\n$/);
    expect(await annalsApp('server-key', 'revoke', id)).toContain('no server key is left');
    expect((await find(id))?.serverSigners).toEqual([]);
  });

  it('allows origins, redirect URIs and the bot, sets the RP id, and revokes', async () => {
    const { id } = await create();
    await annalsApp('allow-origin', id, 'https://new.example');
    await annalsApp('allow-redirect', id, 'https://new.example/callback');
    expect(JSON.parse(await annalsApp('set-rp-id', id, 'Example', '--json'))).toMatchObject({ rpId: 'example' });
    expect(await annalsApp('allow-bot', id)).toContain('https://shop.example, https://new.example');
    expect(await find(id)).toMatchObject({
      origins: ['https://shop.example', 'https://new.example'],
      redirectUris: ['https://new.example/callback'],
      allowsBot: true,
      isRevoked: false,
    });
    expect(JSON.parse(await annalsApp('revoke', id, '--json'))).toMatchObject({ id, isRevoked: true });
    expect(await annalsApp('list')).toMatch(new RegExp(`${id} .* revoked\\n`));
    await expect(annalsApp('allow-bot', id)).rejects.toThrow('app_revoked');
  });

  it('has help with an example for each command', () => {
    for (const command of appCommand().commands.filter((one) => one.name() !== 'list')) {
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => Infinity }).outputHelp();
      expect(help).toMatch(new RegExp(`Example:\\n  annals app ${command.name()} `));
    }
  });
});
