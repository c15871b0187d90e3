import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Contract, JsonRpcProvider, Wallet } from 'ethers';
import { LOCAL_FUNDER_KEY } from '../../../shared/local-chain/development-token.ethers.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { chainSettings, type ChainSettings } from '../../../shared/config/chain-settings.ts';
import { startTestChain } from '../../../shared/testing/chain/start-test-chain.ts';
import type { TestChain } from '../../../shared/testing/chain/test-chain.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { testFoundation, type TestFoundation } from '../../../shared/testing/test-foundation.ts';
import { chainAdministration, type ChainAdministration, type Preparation } from '../chain-administration.ts';
import { accountAddress } from '../smart-accounts/domain/smart-account.ts';

const ETHER = 10n ** 18n;
const SOMEBODY = randomWallet().address;
const TRANSFER_GAS = 21_000n;
const MINED_WITHIN_MS = 60_000;
const folder = temporaryFolder();

describe('preparing a chain', () => {
  let local: TestChain;
  let chain: ChainSettings;
  let provider: JsonRpcProvider;
  let foundation: TestFoundation;
  let administration: ChainAdministration;
  beforeAll(async () => {
    local = await startTestChain(join(folder, 'chain'));
    chain = chainSettings.parse({ chainId: 2484, rpcUrls: [local.rpcUrl] });
    provider = new JsonRpcProvider(local.rpcUrl, 2484, { staticNetwork: true, cacheTimeout: -1 });
    foundation = await testFoundation();
    administration = chainAdministration(foundation);
  });
  afterAll(async () => {
    provider.destroy();
    await local.stop();
  });

  const preparation: Preparation = {
    funderKey: LOCAL_FUNDER_KEY,
    depositWei: 2n * ETHER,
    executors: 2,
    executorWei: ETHER,
  };
  const prepare = (changes: Partial<Preparation> = {}) => administration.prepare(chain, { ...preparation, ...changes });
  const included = (hash: string) =>
    eventually(() => provider.getTransactionReceipt(hash), MINED_WITHIN_MS, 'the transaction is in no block');
  const recorded = async () => (await foundation.eventStore.read('onchain-2484')).map(({ data }) => data);

  it('is refused without somebody who pays, and says what to do; then nothing is recorded', async () => {
    await expect(prepare({ funderKey: undefined })).rejects.toThrow('name a file with the key of an account that pays');
    const poor = randomWallet().privateKey;
    await expect(prepare({ funderKey: poor })).rejects.toThrow(/0x\w{40} has too little balance/);
    expect(await recorded()).toEqual([]);
    expect(await administration.state(chain)).toMatchObject({
      paymaster: null,
      executors: [],
      missing: ['accountFactory', 'entryPoint', 'paymaster'],
    });
    await expect(administration.withdraw(chain, 1n, SOMEBODY)).rejects.toThrow('there is no paymaster');
  });

  it('deploys entry point and factory where they are on every chain, a paymaster of ours, and funds it and executors', async () => {
    const prepared = await prepare();
    expect(prepared).toMatchObject({
      entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
      accountFactory: '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985',
    });
    const { paymaster, paymasterOwner, executors } = prepared;
    expect(await administration.state(chain)).toEqual({
      chainId: 2484,
      entryPoint: prepared.entryPoint,
      accountFactory: prepared.accountFactory,
      paymaster: { address: paymaster, owner: paymasterOwner, depositWei: String(2n * ETHER) },
      executors: executors.map((address) => ({ address, wei: String(ETHER), nonce: 0, bundlesUnderWay: 0 })),
      missing: [],
    });
    expect(executors).toHaveLength(2);
    expect(await recorded()).toEqual([prepared]);
  });

  it('gives accounts the addresses that are told without asking the chain', async () => {
    const address = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
    const factory = new Contract(
      address,
      ['function getAddress(address owner, uint256 salt) view returns (address)'],
      provider,
    );
    for (let times = 0; times < 20; times += 1) {
      const owner = randomWallet().address;
      expect(await factory.getFunction('getAddress')(owner, 0)).toBe(accountAddress(address, owner));
    }
  });

  it('changes nothing that is so, in another process too, and needs nobody who pays then', async () => {
    const block = await provider.getBlockNumber();
    const before = await recorded();
    const again = await chainAdministration(foundation).prepare(chain, { ...preparation, funderKey: undefined });
    expect(again).toEqual(before.at(-1));
    expect(await recorded()).toEqual(before);
    expect(await provider.getBlockNumber()).toBe(block);
  });

  it('adds what is missing, keeps executors that were recorded, and withdraws from the deposit', async () => {
    const [first] = (await recorded()) as { executors: string[] }[];
    const more = await prepare({ executors: 3, depositWei: 3n * ETHER });
    expect(more.executors.slice(0, 2)).toEqual(first?.executors);
    expect(more.executors).toHaveLength(3);
    expect((await prepare({ executors: 1 })).executors).toEqual(more.executors);
    expect(await recorded()).toHaveLength(2);
    const hash = await administration.withdraw(chain, ETHER, SOMEBODY);
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await provider.getBalance(SOMEBODY)).toBe(ETHER);
    expect((await administration.state(chain)).paymaster?.depositWei).toBe(String(2n * ETHER));
    await expect(administration.withdraw(chain, 3n * ETHER, SOMEBODY)).rejects.toThrow('withdraw no more than that');
  });

  it("gives the paymaster's owner the gas for a withdrawal again", async () => {
    const ownerKey = await personalDataOf(foundation).keys.paymasterKey(2484);
    const owner = new Wallet(`0x${ownerKey.toString('hex')}`, provider);
    const fee = { type: 0, gasLimit: TRANSFER_GAS, gasPrice: 10n ** 10n };
    const value = (await provider.getBalance(owner.address)) - TRANSFER_GAS * fee.gasPrice;
    const { hash } = await owner.sendTransaction({ to: SOMEBODY, value, ...fee });
    await included(hash);
    // geth may return a receipt a moment before its head is that block.
    const hasNothing = async () => (await provider.getBalance(owner.address)) === 0n;
    await eventually(hasNothing, MINED_WITHIN_MS, 'the owner must have sent all it has away');
    const withdraw = () => administration.withdraw(chain, 1n, SOMEBODY);
    await expect(withdraw()).rejects.toThrow('has too little balance to pay for this: send it some');
    await prepare({ executors: 1 });
    expect(await withdraw()).toMatch(/^0x[0-9a-f]{64}$/);
  });

  it('says what to do while a transaction of the one who pays is under way, as after an end in the middle', async () => {
    await local.setAutomine(false);
    const funder = new Wallet(LOCAL_FUNDER_KEY, provider);
    const underWay = await funder.sendTransaction({ to: SOMEBODY, value: 1n, maxFeePerGas: 10n ** 12n });
    const more = { executors: 4 };
    await expect(prepare(more)).rejects.toThrow(
      `another transaction of ${funder.address} is under way: run this again`,
    );
    await local.setAutomine(true);
    await local.mineBlocks(1);
    expect((await included(underWay.hash)).status).toBe(1);
    expect((await prepare(more)).executors).toHaveLength(4);
  });

  it('is refused with a node of another chain, with none, and with a contract that is not ours', async () => {
    const wrong = (changes: object) =>
      administration.prepare(chainSettings.parse({ ...chain, ...changes }), preparation);
    await expect(wrong({ chainId: 10 })).rejects.toThrow(/chain 10 does not answer: .* serves chain 0x9b4/);
    await expect(wrong({ rpcUrls: ['http://127.0.0.1:9'] })).rejects.toThrow('does not answer: see that its node runs');
    await expect(wrong({ accountFactory: SOMEBODY })).rejects.toThrow(`nothing is deployed at ${SOMEBODY}`);
    await expect(wrong({ paymaster: SOMEBODY })).rejects.toThrow(`there is no paymaster at ${SOMEBODY}`);
    const other = chainAdministration(await testFoundation());
    const [prepared] = (await recorded()) as { paymaster: string }[];
    const theirs = chainSettings.parse({ ...chain, paymaster: prepared?.paymaster });
    await expect(other.prepare(theirs, preparation)).rejects.toThrow('not of the key in this vault');
  });
});
