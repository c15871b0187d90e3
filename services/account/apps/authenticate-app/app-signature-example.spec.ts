import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { hexlify, toUtf8Bytes, Wallet } from 'ethers';
import { appSignatureExample, appSignatureExampleText } from '../../../../schemas/http/app-signature-example.ts';
import { v1Text } from '../../../../schemas/http/app-signature.ts';
import { appHeaders } from '../../../../schemas/http/headers.ts';
import { problemOfAnswer } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { startAccountUnderTest } from '../../testing/account-under-test.ethers.ts';

const folder = temporaryFolder();
const PRODUCTION = {
  NODE_ENV: 'production',
  RATE_LIMITS: '',
  MASTER_KEY: Buffer.from(Array.from({ length: 32 }, (_, index) => (index * 37) % 256)).toString('base64'),
  CHAINS: '[{"chainId":1,"rpcUrls":["http://a"]}]',
  TRUSTED_PROXIES: '127.0.0.1',
};
const SIGNER = `0x${'1'.repeat(40)}`;

describe('the text that an app signs', () => {
  it('is shown by an example that can be made anew, in docs/signatures.md and in the description of the header', () => {
    const { signingKey, text, bytes, signature } = appSignatureExample;
    expect(v1Text(appSignatureExample)).toBe(text);
    expect(hexlify(toUtf8Bytes(text))).toBe(bytes);
    expect(new Wallet(signingKey).signMessageSync(text)).toBe(signature);
    expect(appHeaders['x-signature'].description).toContain(appSignatureExampleText);
    expect(readFileSync('docs/signatures.md', 'utf8')).toContain(appSignatureExampleText);
  });

  it('is what a refusal says in development: another signature of just that is accepted', async () => {
    await using account = await startAccountUnderTest(folder);
    const wrong = { 'x-signature': `0x${'1'.repeat(130)}` };
    const path = account.challengePath(SIGNER);
    for (const scheme of ['v1', 'v2'] as const) {
      const app = await account.register({ scheme });
      const headers = account.appHeaders(wrong, app);
      const { code, detail } = await problemOfAnswer(await account.ask(path, { headers }));
      expect(code).toBe('app_signature_invalid');
      const [text = ''] = new RegExp(`${scheme} ("[^"]*")`).exec(detail)?.slice(1) ?? [];
      const signed = { ...headers, 'x-signature': account.sign(JSON.parse(text) as string, app) };
      expect((await account.ask(path, { headers: signed })).status).toBe(200);
    }
  });

  it('is not said in production', async () => {
    await using account = await startAccountUnderTest(folder, PRODUCTION);
    const headers = { ...account.appHeaders({ 'x-signature': `0x${'1'.repeat(130)}` }), 'x-forwarded-proto': 'https' };
    const { detail } = await problemOfAnswer(await account.ask(account.challengePath(SIGNER), { headers }));
    expect(detail).toBe('the signature is not by a signing key of the app over this request');
  });
});
