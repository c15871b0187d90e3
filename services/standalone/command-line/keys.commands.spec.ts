import { expect, it, jest } from '@jest/globals';
import { folderWithStores } from '../../../shared/testing/engines/folder-with-stores.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { keysCommand } from './keys.commands.ts';

const DATA_DIR = await folderWithStores(temporaryFolder());

const annalsKeys = async (...args: string[]): Promise<string> => {
  const environment = jest.replaceProperty(process, 'env', { DATA_DIR });
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await keysCommand().parseAsync(args, { from: 'user' });
    return write.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    write.mockRestore();
    environment.restore();
  }
};

it('annals keys rotate says since when the new key signs, and until when the others are published', async () => {
  const { kid, others } = JSON.parse(await annalsKeys('rotate', '--json')) as { kid: string; others: object[] };
  expect(others).toHaveLength(1);
  const lines = (await annalsKeys('rotate')).split('\n');
  expect(lines[0]).toMatch(/^[0-9a-f]{32} {2}signs from \d{4}-/);
  expect(lines.filter((line) => / is published until \d{4}-/.test(line))).toHaveLength(2);
  expect(lines.join('\n')).toContain(kid);
});

it('annals keys remove destroys a key that does not sign now', async () => {
  const { kid } = JSON.parse(await annalsKeys('rotate', '--json')) as { kid: string };
  expect(JSON.parse(await annalsKeys('remove', kid, '--json'))).toEqual({ kid });
  await expect(annalsKeys('remove', kid)).rejects.toThrow(`no key that signs tokens has the id ${kid}: there are `);
  const { others } = JSON.parse(await annalsKeys('rotate', '--json')) as { others: { kid: string }[] };
  expect(others.map((other) => other.kid)).not.toContain(kid);
  const [signing] = others;
  await expect(annalsKeys('remove', signing?.kid ?? '')).rejects.toThrow('signs now: run "annals keys rotate"');
});
