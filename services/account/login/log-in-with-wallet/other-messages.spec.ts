import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { JsonRpcNode } from '../../../../shared/testing/chain/json-rpc-node.ts';
import { problemOfAnswer } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { chainsOf, startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';

const folder = temporaryFolder();

describe('a signature over another message than that of the challenge', () => {
  let account: AccountUnderTest;
  let node: JsonRpcNode;
  beforeAll(async () => {
    node = await JsonRpcNode.start(new MemoryChain(2484));
    account = await startAccountUnderTest(folder, { CHAINS: chainsOf([2484, node.url]) });
  });
  afterAll(async () => {
    await account.service.close();
    await node.stop();
  });

  const expectRefused = async (change: (message: string) => string) => {
    const wallet = account.newWallet();
    const { message } = await account.challengeFor(wallet.address);
    const changed = change(message);
    expect(changed).not.toBe(message);
    const answer = await account.redeem(wallet.address, wallet.signMessageSync(changed));
    expect((await problemOfAnswer(answer)).code).toBe('wallet_signature_invalid');
    expect((await account.redeem(wallet.address, wallet.signMessageSync(message))).status).toBe(201);
  };

  it.each<[string, RegExp, string]>([
    ['domain', /^app\.example/, 'evil.example'],
    ['domain with a scheme', /^/, 'https://'],
    ['domain with a port', /^app\.example/, 'app.example:8443'],
    ['signer', /0x[0-9a-fA-F]{40}/, '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
    ['statement', /Sign in\./, 'Sign out.'],
    ['statement, of which there is none', /Sign in.*\n\n/, ''],
    ['URI', /URI: .*/, 'URI: https://evil.example'],
    ['URI with a path', /(URI: .*)/, '$1/'],
    ['version', /Version: 1/, 'Version: 2'],
    ['chain', /Chain ID: 2484/, 'Chain ID: 1'],
    ['nonce', /Nonce: .*/, 'Nonce: 00000000000000000000000000'],
    ['time of issue', /Issued At: \d{4}/, 'Issued At: 2020'],
    ['expiry', /Expiration Time: \d{4}/, 'Expiration Time: 2999'],
    ['expiry, of which there is none', /\nExpiration Time: .*/, ''],
    ['request id', /$/, '\nRequest ID: 1'],
    ['list of resources', /$/, '\nResources:\n- https://evil.example'],
    ['line end', /\n/g, '\r\n'],
    ['end', /$/, '\n'],
  ])('is refused: another %s', async (_, part, other) => {
    await expectRefused((message) => message.replace(part, other));
  });

  it('is refused, whatever one character differs', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }), async (index, other) => {
        await expectRefused((message) => {
          const at = index % message.length;
          const changed = message.slice(0, at) + other + message.slice(at + 1);
          return changed === message ? `${message} ` : changed;
        });
      }),
      { numRuns: 40 },
    );
  });
});
