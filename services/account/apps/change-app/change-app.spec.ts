import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { computeAddress } from 'ethers';
import { codeOrStatus } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer } from '../../testing/sessions.ts';

const folder = temporaryFolder();

describe('changing an app', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
  });
  afterAll(() => account.service.close());

  it('rotates its key to one of which only the address is stored', async () => {
    const { id, signingKey: first } = await account.register();
    const { app, newKey: signingKey } = await account.apps.rotate(id);
    expect(app.signers).toEqual([computeAddress(signingKey), computeAddress(first)]);
    const stored = await account.foundation.eventStore.read(`app-${id}`);
    expect(stored.map(({ type }) => type)).toEqual(['AppRegistered', 'AppKeyRotated']);
    for (const { dataText } of stored) expect(dataText).not.toContain(signingKey.slice(2));
  });

  it('normalises and refuses origins and redirect URIs as registering does', async () => {
    const { id } = await account.register();
    const { origins } = await account.apps.change(id, { allowOrigin: 'HTTPS://New.Example:443/' });
    expect(origins.at(-1)).toBe('https://new.example');
    for (const wrong of ['*', 'http://new.example', 'https://new.example/path']) {
      await expect(account.apps.change(id, { allowOrigin: wrong })).rejects.toThrow('validation_failed');
    }
    const { redirectUris } = await account.apps.change(id, { allowRedirect: 'https://new.example/back' });
    expect(redirectUris).toEqual(['https://new.example/back']);
    await expect(account.apps.change(id, { allowRedirect: 'https://new.example/#x' })).rejects.toThrow(
      'validation_failed',
    );
  });

  it('takes an RP id in any letter case, and nothing that is not a hostname', async () => {
    const { id } = await account.register();
    expect(await account.apps.change(id, { rpId: 'App.Example' })).toMatchObject({ rpId: 'app.example' });
    for (const wrong of [
      '',
      'https://app.example',
      'app.example:443',
      'app.example/',
      '*.example',
      '127.0.0.1',
      '.example',
    ]) {
      await expect(account.apps.change(id, { rpId: wrong })).rejects.toThrow('validation_failed');
    }
  });

  it('is listed', async () => {
    const { id } = await account.register({ name: 'Other' });
    await account.apps.change(id, { allowBot: true });
    await account.apps.change(id, { revoke: true });
    expect((await account.apps.list()).find((app) => app.id === id)).toMatchObject({
      ...{ name: 'Other', allowsBot: true, isRevoked: true },
    });
  });

  it('refuses an app that is unknown or revoked', async () => {
    await expect(account.apps.rotate('app_unknown')).rejects.toThrow('validation_failed');
    const { id } = await account.register();
    await account.apps.change(id, { revoke: true });
    await expect(account.apps.rotate(id)).rejects.toThrow('app_revoked');
  });

  it('says whether it is still accepted with a key', async () => {
    const app = await account.register();
    expect(await account.apps.accepts(app)).toBe(true);
    await account.apps.rotate(app.id);
    expect(await account.apps.accepts(app)).toBe(true);
    const { newKey: signingKey } = await account.apps.rotate(app.id);
    expect(await account.apps.accepts(app)).toBe(false);
    await account.apps.change(app.id, { revoke: true });
    expect(await account.apps.accepts({ ...app, signingKey })).toBe(false);
  });

  it('refuses the tokens of its sessions within two seconds, and refreshes nothing, once it is revoked', async () => {
    const app = await account.register();
    const wallet = account.newWallet();
    const session = await account.logIn(wallet, { by: app });
    const headers = bearer(session);
    const read = () => account.ask(`/user/${session.userId}/profile`, { method: 'POST', body: {}, headers });
    expect(await codeOrStatus(await read())).toBe(200);
    await account.apps.change(app.id, { revoke: true });
    account.clock.time += 1_500;
    const head = await account.foundation.eventStore.head();
    expect(await codeOrStatus(await read())).toBe('app_revoked');
    expect(await codeOrStatus(await account.refresh(session.refreshToken))).toBe('app_revoked');
    expect(await account.foundation.eventStore.head()).toBe(head);
    expect((await account.refresh((await account.logIn(wallet)).refreshToken)).status).toBe(201);
  });
});
