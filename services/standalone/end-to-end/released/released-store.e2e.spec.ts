import { chmodSync, cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Wallet } from 'ethers';
import { publicKeys } from '../../../../schemas/http/account/account-routes.ts';
import { verifyExport } from '../../../../shared/audit/verify-export.jose.ts';
import type { AnnalsClient } from '../../../../shared/client/annals-client.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { developmentClient } from '../../development-client.ethers.ts';
import { readEverything, readFacts, releaseFolder } from './released-store.ethers.ts';

const VERSIONS = readdirSync(import.meta.dirname).filter((name) => /^\d+\.\d+\.\d+$/.test(name));
/** Read models of another version are filled first. */
const WITHIN_MS = 60_000;

describe.each(VERSIONS)('a store of version %s', (version) => {
  const { walletKey, userId, ...stored } = readFacts(version);
  const data = join(temporaryFolder(), 'data');
  let program: RunningProgram;
  let client: AnnalsClient;
  beforeAll(async () => {
    cpSync(join(releaseFolder(version), 'data'), data, { recursive: true });
    // A checkout keeps no modes of files.
    for (const file of ['master.key', 'dev.json']) chmodSync(join(data, file), 0o600);
    program = await RunningProgram.start(data, {});
    client = developmentClient(program.development);
  });
  afterAll(() => program.stop());

  it('lets its user log in, and answers what it answered then', async () => {
    expect((await client.login.wallet(new Wallet(walletKey))).userId).toBe(userId);
    const found = await eventually(
      async () => {
        const { history, ...rest } = await readEverything(client, program, userId);
        return history.length > stored.history.length ? { ...rest, history } : undefined;
      },
      WITHIN_MS,
      'the history must have the new login',
    );
    expect({ ...found, history: found.history.slice(0, stored.history.length) }).toEqual(stored);
  });

  it('gives an export of the history that is proven', async () => {
    const { accountUrl } = program.development;
    const headers = { authorization: `Bearer ${await client.accessToken()}` };
    const answer = await eventually(
      async () => {
        const asked = await fetch(`${accountUrl}/user/${userId}/history/export`, { headers });
        return asked.ok && asked;
      },
      WITHIN_MS,
      'the history must be exported',
    );
    const jwks = publicKeys.parse(await (await fetch(`${accountUrl}/.well-known/jwks.json`)).json());
    if (!answer.body) throw new Error('the export has no body');
    const proven = await verifyExport(answer.body, { jwks });
    expect(proven).toMatchObject({ sub: userId, erased: 0 });
    expect(proven.items).toBeGreaterThan(stored.history.length);
  });
});
