import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSmartAccountClient } from 'permissionless';
import { toSimpleSmartAccount } from 'permissionless/accounts';
import { createPimlicoClient } from 'permissionless/clients/pimlico';
import { createPublicClient, defineChain, http, type Address, type BaseError, type Hex } from 'viem';
import {
  createBundlerClient,
  createPaymasterClient,
  entryPoint07Address,
  getUserOperationHash,
} from 'viem/account-abstraction';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { startTestChain } from '../../../shared/testing/chain/start-test-chain.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { STUB_SIGNATURE } from '../operations/domain/operation-hash.ts';
import { reverts, SAYS_NO, writes } from '../testing/evm-code.ts';
import { RpcUnderTest } from '../testing/rpc-under-test.ethers.ts';
import { SendsUnderTest } from '../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const ETHER = 10n ** 18n;
const pollingInterval = 20;

const connect = (rpc: RpcUnderTest, { batch = false } = {}) => {
  const { rpcUrl } = rpc.sends.testChain;
  const chain = defineChain({
    id: Anvil.chainId,
    name: 'local',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  });
  const client = createPublicClient({ chain, transport: http(rpcUrl), pollingInterval });
  const transport = http(rpc.url, { fetchOptions: { headers: rpc.bearer }, batch, retryCount: 0 });
  const paymaster = createPaymasterClient({ transport });
  const pimlico = createPimlicoClient({ transport });
  /**
   * Without it viem offers twice what the node suggests, for which no app pays. An app pays for three times the base fee
   * at most, which blocks of four other accounts lower by two fifths: the fast price, twice the base fee, would be above.
   */
  const userOperation = { estimateFeesPerGas: async () => (await pimlico.getUserOperationGasPrice()).standard };
  const someAccount = () => toSimpleSmartAccount({ client, owner: privateKeyToAccount(generatePrivateKey()) });
  /** A bundler client of somebody with a new account. */
  const somebody = async ({ sponsored = true } = {}) => {
    const account = await someAccount();
    const paying = sponsored ? { paymaster } : {};
    return createBundlerClient({ account, client, chain, transport, pollingInterval, userOperation, ...paying });
  };
  return { chain, client, transport, paymaster, userOperation, someAccount, somebody };
};

/** The names of an error's classes, from the outermost. */
const namesOf = (error: unknown): string[] => {
  const names: string[] = [];
  for (let at = error as BaseError | undefined; at; at = at.cause as BaseError | undefined) names.push(at.name);
  return names;
};

describe("viem's clients with permissionless' SimpleAccount", () => {
  let sends: SendsUnderTest;
  let rpc: RpcUnderTest;
  let clients: ReturnType<typeof connect>;
  let written: Address;
  let refusing: Address;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { startChain: startTestChain });
    rpc = await RpcUnderTest.start(sends);
    clients = connect(rpc);
    written = await contract(writes(1));
    refusing = await contract(reverts(SAYS_NO));
  });
  afterAll(() => sends.stop());

  const contract = async (code: string): Promise<Address> => (await sends.testChain.deploy(code)) as Address;
  const caught = (attempt: Promise<unknown>): Promise<unknown> =>
    attempt.then(
      () => undefined,
      (error: unknown) => error,
    );

  it('ask for the chain, and for its entry points, one by one and in one request', async () => {
    for (const batch of [false, true]) {
      const bundler = await connect(rpc, { batch }).somebody();
      const asked = Promise.all([bundler.getChainId(), bundler.getSupportedEntryPoints()]);
      expect(await asked).toEqual([Anvil.chainId, [entryPoint07Address]]);
    }
  });

  it('send what an app pays for: stub, estimate, signature of the paymaster, receipt', async () => {
    const bundler = await clients.somebody();
    const { address } = bundler.account;
    const deposit = await sends.deposit();
    const hash = await bundler.sendUserOperation({ calls: [{ to: written, data: '0x' }] });
    const receipt = await bundler.waitForUserOperationReceipt({ hash });
    expect(receipt).toMatchObject({
      ...{ userOpHash: hash, success: true, sender: address, entryPoint: entryPoint07Address },
      ...{ paymaster: sends.prepared.paymaster, receipt: { status: 'success' } },
    });
    expect(await sends.balance(address)).toBe(0n);
    expect(deposit - (await sends.deposit())).toBe(receipt.actualGasCost);
    expect(await bundler.account.isDeployed()).toBe(true);
    expect(await clients.client.getStorageAt({ address: written, slot: '0x0' })).toMatch(/^0x0*1$/);
    const found = await bundler.getUserOperation({ hash });
    expect(found).toMatchObject({
      ...{ entryPoint: entryPoint07Address, transactionHash: receipt.receipt.transactionHash },
      ...{ blockNumber: receipt.receipt.blockNumber, blockHash: receipt.receipt.blockHash },
    });
    const { userOperation } = found;
    const hashed = {
      chainId: Anvil.chainId,
      entryPointAddress: entryPoint07Address,
      entryPointVersion: '0.7',
    } as const;
    expect(getUserOperationHash({ ...hashed, userOperation })).toBe(hash);
    const again = await bundler.sendUserOperation({ calls: [{ to: written }, { to: written, value: 0n }] });
    expect(await bundler.waitForUserOperationReceipt({ hash: again })).toMatchObject({ success: true });
    expect(userOperation.nonce >> 64n).not.toBe(0n);
  });

  it('are given stub data and data by the paymaster client, which differ in the signature only', async () => {
    const bundler = await clients.somebody({ sponsored: false });
    const { account } = bundler;
    const { factory = '0x', factoryData = '0x' } = await account.getFactoryArgs();
    const { maxFeePerGas, maxPriorityFeePerGas } = await clients.client.estimateFeesPerGas();
    const callData = await account.encodeCalls([{ to: written }]);
    const fields = { callData, nonce: 0n, factory, factoryData, maxFeePerGas, maxPriorityFeePerGas };
    const about = { chainId: Anvil.chainId, entryPointAddress: entryPoint07Address, sender: account.address };
    const stub = await clients.paymaster.getPaymasterStubData({ ...about, ...fields });
    expect(stub).toEqual({
      paymaster: sends.prepared.paymaster,
      paymasterData: expect.stringMatching(/^0x/),
      paymasterVerificationGasLimit: expect.any(BigInt),
      paymasterPostOpGasLimit: 0n,
    });
    const { paymaster = '0x', paymasterData: stubData = '0x' } = stub;
    const estimated = { ...fields, paymaster, paymasterData: stubData, paymasterPostOpGasLimit: 0n };
    const gas = await bundler.estimateUserOperationGas(estimated);
    const names = ['callGasLimit', 'verificationGasLimit', 'preVerificationGas', 'paymasterVerificationGasLimit'];
    expect(gas).toEqual(Object.fromEntries(names.map((name) => [name, expect.any(BigInt)])));
    const limits = { ...gas, paymasterPostOpGasLimit: 0n };
    const signed = await clients.paymaster.getPaymasterData({ ...about, ...fields, ...limits });
    expect(signed).toMatchObject({ paymaster, sponsor: { name: 'App' } });
    const { paymasterData = '0x', paymasterVerificationGasLimit = 0n } = signed;
    expect(paymasterData.length).toBe(stubData.length);
    const zeros = (hex: Hex) => [...Buffer.from(hex.slice(2), 'hex')].filter((byte) => byte === 0).length;
    expect(zeros(stubData)).toBeLessThanOrEqual(zeros(paymasterData));
    const whole = { ...estimated, ...limits, paymasterData, paymasterVerificationGasLimit };
    const hash = await bundler.sendUserOperation(whole);
    expect(await bundler.waitForUserOperationReceipt({ hash })).toMatchObject({ success: true, paymaster });
  });

  it('send what the account pays for, to the wei, and are told of it while no block has it', async () => {
    const bundler = await clients.somebody({ sponsored: false });
    const { address } = bundler.account;
    await sends.fund(address, ETHER);
    const to = randomWallet().address as Address;
    await sends.testChain.setAutomine(false);
    const hash = await bundler.sendUserOperation({ calls: [{ to, value: 7n }] });
    expect(await bundler.getUserOperation({ hash })).toMatchObject({
      ...{ blockHash: null, blockNumber: null, transactionHash: null },
      userOperation: { sender: address },
    });
    expect(namesOf(await caught(bundler.getUserOperationReceipt({ hash })))).toEqual([
      'UserOperationReceiptNotFoundError',
    ]);
    await sends.testChain.setAutomine(true);
    await sends.mine(1);
    const { success, actualGasCost, paymaster } = await bundler.waitForUserOperationReceipt({ hash });
    expect({ success, paymaster }).toEqual({ success: true, paymaster: undefined });
    expect(await sends.balance(to)).toBe(7n);
    const left = await sends.deposit(address);
    expect(ETHER - (await sends.balance(address)) - left).toBe(7n + actualGasCost);
  });

  it('send from several accounts at once', async () => {
    // No array holds these clients: the compiler would compare their types for longer than it checks all other files.
    const sendOne = async () => {
      const bundler = await clients.somebody();
      const hash = await bundler.sendUserOperation({ calls: [{ to: written }] });
      const { success, sender } = await bundler.waitForUserOperationReceipt({ hash });
      return { success, isOwn: sender === bundler.account.address };
    };
    const sent = await Promise.all(Array.from({ length: 5 }, sendOne));
    expect(sent).toEqual(Array.from({ length: 5 }, () => ({ success: true, isOwn: true })));
  });

  it('are told why a call would revert, and that it did', async () => {
    const bundler = await clients.somebody();
    const calls = [{ to: refusing }] as const;
    const error = await caught(bundler.sendUserOperation({ calls }));
    expect(namesOf(error)).toEqual(expect.arrayContaining(['UserOperationExecutionError', 'ExecutionRevertedError']));
    expect((error as BaseError).message).toContain('no');
    expect((error as BaseError).walk((at) => (at as { code?: number }).code === -32521)).toMatchObject({
      data: { reason: 'no', revertData: SAYS_NO },
    });
    const limits = { callGasLimit: 100_000n, verificationGasLimit: 400_000n, preVerificationGas: 80_000n };
    const funded = await clients.somebody({ sponsored: false });
    await sends.fund(funded.account.address, ETHER);
    const hash = await funded.sendUserOperation({ calls, ...limits });
    expect(await funded.waitForUserOperationReceipt({ hash })).toMatchObject({
      ...{ success: false, reason: SAYS_NO },
      receipt: { status: 'success' },
    });
  });

  it.each([
    ['AA21', 'InsufficientPrefundError', {}],
    ['AA24', 'UserOperationSignatureError', { signature: STUB_SIGNATURE as Hex }],
    ['AA25', 'InvalidAccountNonceError', { nonce: 5n }],
    ['AA26', 'UserOperationRejectedByEntryPointError', { verificationGasLimit: 170_000n }],
  ])('know by its code and text what is wrong: %s', async (text, name, wrong) => {
    const bundler = await clients.somebody({ sponsored: false });
    if (text !== 'AA21') await sends.fund(bundler.account.address, ETHER);
    const limits = { callGasLimit: 100_000n, verificationGasLimit: 400_000n, preVerificationGas: 80_000n };
    const error = await caught(bundler.sendUserOperation({ calls: [{ to: written }], ...limits, ...wrong }));
    expect(namesOf(error)).toContain(name);
    expect((error as BaseError).message).toContain(text);
  });

  it("send transactions by permissionless' client", async () => {
    const { chain, client, transport, paymaster, userOperation } = clients;
    const account = await clients.someAccount();
    const smart = createSmartAccountClient({
      account,
      chain,
      client,
      paymaster,
      bundlerTransport: transport,
      userOperation,
      pollingInterval,
    });
    const transactionHash = await smart.sendTransaction({ to: written, value: 0n });
    expect(await client.getTransactionReceipt({ hash: transactionHash })).toMatchObject({ status: 'success' });
    expect(await account.isDeployed()).toBe(true);
  });

  it('are refused at once by the header or the key that is wrong', async () => {
    const { chain, client } = clients;
    const account = await clients.someAccount();
    const asking = (url: string, headers: Record<string, string>) =>
      caught(
        createBundlerClient({
          account,
          client,
          chain,
          transport: http(url, { fetchOptions: { headers }, retryCount: 0 }),
        }).getChainId(),
      );
    expect(await asking(rpc.url, {})).toMatchObject({ name: 'HttpRequestError', status: 401 });
    expect(await asking(rpc.url.replace(/ak_\w{4}/, 'ak_0000'), rpc.bearer)).toMatchObject({ status: 401 });
  });

  it('account for every wei, and for every nonce of executors, who end with no less than they began with', async () => {
    await sends.mine(4);
    await sends.everythingIsOver();
    for (const executor of sends.prepared.executors) {
      expect(await sends.balance(executor)).toBeGreaterThanOrEqual(10n * ETHER);
    }
  });
});
