import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import {
  AbiCoder,
  concat,
  getAddress,
  getCreate2Address,
  getCreateAddress,
  Interface,
  keccak256,
  ZeroHash,
} from 'ethers';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { ACCOUNT_PROXY_CODE } from './account-proxy-code.ts';
import { accountAddress } from './smart-account.ts';

const ACCOUNT_FACTORY = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
/** With `0x`. */
const ADDRESS_LENGTH = 42;
const artifact = createRequire(import.meta.url)(
  '@account-abstraction/contracts/artifacts/SimpleAccountFactory.json',
) as { bytecode: string };

const addressByEthers = (factory: string, owner: string): string => {
  const initialization = new Interface(['function initialize(address)']).encodeFunctionData('initialize', [owner]);
  const implementation = getCreateAddress({ from: factory, nonce: 1 });
  const parameters = AbiCoder.defaultAbiCoder().encode(['address', 'bytes'], [implementation, initialization]);
  return getCreate2Address(factory, ZeroHash, keccak256(concat([`0x${ACCOUNT_PROXY_CODE}`, parameters])));
};

describe('the address of an account', () => {
  it('is what its factory makes with CREATE2, for any owner and factory', () => {
    const random = new SeededRandom(1);
    const anyAddress = () => getAddress(keccak256(random.hash()).slice(0, ADDRESS_LENGTH));
    for (let times = 0; times < 100; times += 1) {
      const owner = anyAddress();
      for (const factory of [ACCOUNT_FACTORY, anyAddress()]) {
        expect(accountAddress(factory, owner)).toBe(addressByEthers(factory, owner));
      }
    }
  });

  it('follows from the code of the proxy that the factory holds', () => {
    expect(artifact.bytecode).toContain(ACCOUNT_PROXY_CODE);
  });
});
