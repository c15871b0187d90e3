import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../../schemas/json.ts';
import { chainSettings } from '../../../../shared/config/chain-settings.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { createAccountData } from '../../operations/domain/account-calls.ts';
import { FORKS } from '../../operations/domain/fork-rules.ts';
import { STUB_PAYMASTER_DATA, STUB_SIGNATURE } from '../../operations/domain/operation-hash.ts';
import { preVerificationGas } from '../../operations/domain/pre-verification-gas.ts';
import { nonceOf, type UserOperation } from '../../operations/domain/user-operation.ts';
import { ChainClient } from '../../../../shared/chain/client/chain-client.ts';
import { JsonRpcOperationsChain } from '../../chain/operations-chain.json-rpc.ts';
import { contractCode } from '../../chain/contracts.ts';
import { returns, reverts } from '../../testing/evm-code.ts';
import { RpcUnderTest, type OwnedAccount, type RpcAnswer } from '../../testing/rpc-under-test.ethers.ts';
import { SendsUnderTest, type Sender } from '../../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const ETHER = 10n ** 18n;
const REFUSED = -32500;
const BY_PAYMASTER = -32501;
const EXPIRED = -32503;
const SIGNATURE = -32507;
const DEPOSIT = -32508;
const BYTES = '0xdeadbeef';
/** `getAddress(address,uint256)`, which says what the account is, and does not make it. */
const GET_ADDRESS = '0x8cb84e18';
/** Of a packed ERC-4337 `validationData`: who vouches for it, until when, from when. */
const validationData = ({ failed = 0n, until = 0n, after = 0n }): bigint => (after << 208n) | (until << 160n) | failed;
const EARLIER = 1_000_000_000n;
const LATER = 9_000_000_000n;
/** More than an estimate's fees ask of an account that has a deposit and never pays. */
const MUCH = 10n ** 30n;

/** What the EntryPoint says, and cannot be made to say by an operation; why not. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  AA90: 'the beneficiary of a bundle is its executor, never the zero address',
  AA91: 'an executor is no contract, so that it takes whatever it is sent',
  AA92: 'an operation cannot make the EntryPoint call `innerHandleOp` for somebody else',
  AA93: 'a paymaster is encoded with both of its limits, or there is none',
  AA94: 'amounts above 120 bits are refused before (-32602), and an estimate does not take them from the operation',
  AA95: 'limits that fit no block are refused before (-32602), and a bundle has the gas for those that do',
  AA96: 'only `handleAggregatedOps` says it, which is never called',
};

interface Row {
  operation: () => Promise<UserOperation>;
  send: number;
  data?: (operation: UserOperation) => JsonObject;
  /** What an estimate, and the paymaster's signature, are answered; `undefined`: it does not matter to them. */
  estimate?: number;
  sponsor?: number;
  /** What `handleOps` says, where it is not the same. */
  handleOps?: string;
}

describe('an operation that the EntryPoint refuses', () => {
  let sends: SendsUnderTest;
  let rpc: RpcUnderTest;
  let client: ChainClient;
  let chain: JsonRpcOperationsChain;
  let account: OwnedAccount;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { executors: 1 });
    rpc = await RpcUnderTest.start(sends);
    const settings = chainSettings.parse({ chainId: Anvil.chainId, rpcUrls: [sends.testChain.rpcUrl] });
    client = new ChainClient(Anvil.chainId, settings.rpcUrls);
    chain = new JsonRpcOperationsChain(client, settings);
    account = await rpc.deployed();
  });
  afterAll(async () => {
    client.close();
    await sends.stop();
  });

  const contract = async (code: string, depositWei = ETHER): Promise<string> => {
    const address = await sends.testChain.deploy(code);
    await sends.setDeposit(depositWei, address);
    return address;
  };
  const operation = (by = account, changes: Partial<UserOperation> = {}) =>
    rpc.operation(by, { nonce: nonceOf(7n, 0n), ...changes });
  const ofContract = async (code: string) => operation({ ...account, address: await contract(code, MUCH) });
  /** Of an account that is not deployed, and can pay. */
  const fresh = async (
    factory: (one: OwnedAccount) => UserOperation['factory'],
    changes: Partial<UserOperation> = {},
  ) => {
    const one = rpc.account();
    await sends.fund(changes.sender ?? one.address, ETHER);
    return operation(one, { factory: factory(one), ...changes });
  };
  const paidBy = async (code: string, { depositWei = ETHER, gas = 100_000n } = {}) =>
    operation(account, {
      paymaster: {
        address: await contract(code, depositWei),
        verificationGasLimit: gas,
        postOpGasLimit: 0n,
        data: '0x',
      },
    });
  /** A paymaster's answer: no context, and that. */
  const answers = (data: bigint) => returns(0x40n, data, 0n);
  const paymasterOf = ({ paymaster }: UserOperation) => ({ paymaster: paymaster?.address ?? null });

  const rest = ({ id: _, ...answer }: RpcAnswer & { id?: unknown }) => answer;

  const rows: Readonly<Record<string, Row>> = {
    'AA10 sender already constructed': {
      operation: () => Promise.resolve(operation(account, { factory: account.factory })),
      ...{ send: REFUSED, estimate: REFUSED, sponsor: REFUSED },
    },
    'AA13 initCode failed or OOG': {
      operation: async () => {
        const address = await contract(reverts('0x'));
        return fresh(() => ({ address, data: '0x' }));
      },
      ...{ send: REFUSED, estimate: REFUSED, sponsor: REFUSED },
    },
    'AA14 initCode must return sender': {
      operation: () => fresh(({ factory }) => factory, { sender: randomWallet().address }),
      ...{ send: REFUSED, estimate: REFUSED, sponsor: REFUSED },
    },
    'AA15 initCode must create sender': {
      operation: () =>
        fresh(({ owner, factory }) => ({
          ...factory,
          data: GET_ADDRESS + createAccountData(owner.address).slice('0x'.length + 8),
        })),
      ...{ send: REFUSED, estimate: REFUSED, sponsor: REFUSED },
    },
    'AA20 account not deployed': {
      operation: () => fresh(() => undefined),
      ...{ send: REFUSED, estimate: REFUSED, sponsor: REFUSED, handleOps: '' },
    },
    "AA21 didn't pay prefund": {
      operation: async () => {
        const poor = await rpc.deployed();
        await sends.fund(poor.address, 0n);
        await sends.setDeposit(0n, poor.address);
        return operation(poor);
      },
      send: REFUSED,
    },
    'AA22 expired or not due': {
      operation: () => ofContract(returns(validationData({ until: EARLIER, after: 1n }))),
      send: EXPIRED,
      data: () => ({ validUntil: Number(EARLIER), validAfter: 1 }),
    },
    'AA23 reverted': {
      operation: () => ofContract(reverts(BYTES)),
      ...{ send: REFUSED, estimate: REFUSED, sponsor: REFUSED },
      data: () => ({ reason: 'AA23 reverted', revertData: BYTES }),
    },
    'AA24 signature error': {
      operation: () => Promise.resolve(operation({ ...account, owner: randomWallet() })),
      send: SIGNATURE,
    },
    'AA25 invalid account nonce': {
      operation: () => Promise.resolve(operation(account, { nonce: nonceOf(7n, 5n) })),
      ...{ send: REFUSED, estimate: REFUSED, sponsor: REFUSED },
    },
    'AA26 over verificationGasLimit': {
      operation: () => {
        const paymaster = {
          address: sends.prepared.paymaster,
          verificationGasLimit: 0n,
          postOpGasLimit: 0n,
          data: STUB_PAYMASTER_DATA,
        };
        const enough = preVerificationGas({ ...operation(), paymaster }, FORKS[Anvil.hardfork]);
        const limits = { verificationGasLimit: 28_000n, callGasLimit: 0n, preVerificationGas: enough };
        const fee = { maxFeePerGas: 1_500_000_000n };
        return Promise.resolve(operation(account, { ...limits, ...fee }));
      },
      ...{ send: REFUSED, sponsor: REFUSED },
    },
    'AA30 paymaster not deployed': {
      operation: () => paidBy('0x'),
      ...{ send: BY_PAYMASTER, estimate: BY_PAYMASTER, handleOps: '' },
      data: paymasterOf,
    },
    'AA31 paymaster deposit too low': {
      operation: () => paidBy(answers(0n), { depositWei: 0n }),
      ...{ send: DEPOSIT, estimate: DEPOSIT },
      data: paymasterOf,
    },
    'AA32 paymaster expired or not due': {
      operation: () => paidBy(answers(validationData({ until: LATER, after: LATER }))),
      send: EXPIRED,
      data: (one) => ({ validUntil: Number(LATER), validAfter: Number(LATER), ...paymasterOf(one) }),
    },
    'AA33 reverted': {
      operation: () => paidBy(reverts(BYTES)),
      ...{ send: BY_PAYMASTER, estimate: BY_PAYMASTER },
      data: paymasterOf,
    },
    'AA34 signature error': {
      operation: () => paidBy(answers(validationData({ failed: 1n }))),
      send: BY_PAYMASTER,
      data: paymasterOf,
    },
    'AA36 over paymasterVerificationGasLimit': {
      operation: () => paidBy(answers(0n), { gas: 100n }),
      send: BY_PAYMASTER,
      data: paymasterOf,
    },
  };

  it('is refused by a text that is known here, or that no operation leads to', () => {
    const texts = ['EntryPoint', 'EntryPointSimulations'] as const;
    const code = texts.map((name) => Buffer.from(contractCode[name].slice(2), 'hex').toString('latin1')).join();
    // A longer text than 32 bytes is in two pieces.
    const found = new Set(Array.from(code.matchAll(/AA\d\d [ -~]{5}/g), ([text]) => text.slice(0, 4)));
    const known = [...Object.keys(rows).map((text) => text.slice(0, 4)), ...Object.keys(UNREACHABLE)];
    expect([...found].sort()).toEqual(known.sort());
  });

  it.each(Object.entries(rows))('is answered by the code of its text: %s', async (text, row) => {
    const refused = await row.operation();
    const trial = await chain.tryBundle([refused], sends.prepared.executors[0] ?? '');
    if (row.handleOps === '') expect(trial).toMatchObject({ kind: 'reverted' });
    else expect(trial).toMatchObject({ kind: 'failed', reason: text });
    const { data = () => ({ reason: text }) } = row;
    const error = { code: row.send, message: expect.stringContaining(text.slice(0, 'AAxx expired'.length)) };
    const answer = await rpc.send(refused);
    expect(answer).toMatchObject({ error });
    if (row.send !== SIGNATURE) expect(answer.error?.data).toMatchObject(data(refused));
    const estimated = await rpc.estimate(refused);
    if (row.estimate === undefined) expect(estimated).toHaveProperty('result');
    else expect(estimated).toMatchObject({ error: { code: row.estimate, message: error.message } });
    if (row.sponsor === undefined) return;
    expect(await rpc.sponsor(refused)).toMatchObject({ error: { code: row.sponsor, message: error.message } });
  });

  it('is estimated whatever its limits, its fees and its signature are', async () => {
    const most = 2n ** 256n - 1n;
    const stubs = { callGasLimit: most, verificationGasLimit: most, preVerificationGas: most, maxFeePerGas: most };
    const usual = await rpc.estimate(operation());
    expect(usual).toHaveProperty('result');
    expect(await rpc.estimate({ ...operation(), ...stubs, signature: STUB_SIGNATURE })).toMatchObject(rest(usual));
    const sponsored = await paidBy(answers(0n));
    const estimated = await rpc.estimate(sponsored);
    for (const postOpGasLimit of [40_000_000n, 2n ** 119n, most]) {
      const paymaster = sponsored.paymaster && { ...sponsored.paymaster, verificationGasLimit: most, postOpGasLimit };
      expect(await rpc.estimate({ ...sponsored, ...stubs, paymaster })).toMatchObject(rest(estimated));
    }
  });

  it('is refused before it expires, if that is within 30 s, and is taken if it is later', async () => {
    const block = (await sends.testChain.call('eth_getBlockByNumber', 'latest', false)) as { timestamp: string };
    const now = BigInt(Math.max(Math.floor(Date.now() / 1_000), Number(block.timestamp)));
    const until = (seconds: bigint) => ofContract(returns(validationData({ until: now + seconds })));
    expect(await rpc.send(await until(20n))).toMatchObject({ error: { code: EXPIRED } });
    expect(await rpc.send(await until(120n))).toHaveProperty('result');
    expect(await rpc.send(await paidBy(answers(validationData({ until: now + 20n }))))).toMatchObject({
      error: { code: EXPIRED, data: { validUntil: Number(now + 20n) } },
    });
  });

  it('is refused without a text where the account answers something else than it should', async () => {
    const refused = await ofContract('0x00');
    const error = { code: REFUSED, data: { reason: '', revertData: '0x' } };
    expect(await rpc.send(refused)).toMatchObject({ error });
    expect(await rpc.estimate(refused)).toMatchObject({ error });
  });

  it('is refused by our paymaster with a stub for its signature, and with another one of it', async () => {
    const { paymaster: address } = sends.prepared;
    const limits = { verificationGasLimit: 100_000n, postOpGasLimit: 0n };
    const stub = operation(account, { paymaster: { address, ...limits, data: STUB_PAYMASTER_DATA } });
    expect(await rpc.send(stub)).toMatchObject({ error: { code: BY_PAYMASTER, data: { paymaster: address } } });
    const short = operation(account, { paymaster: { address, ...limits, data: '0x00' } });
    expect(await rpc.send(short)).toMatchObject({ error: { code: BY_PAYMASTER, message: 'AA33 reverted' } });
    expect(await rpc.send({ ...operation(), signature: STUB_SIGNATURE })).toMatchObject({ error: { code: SIGNATURE } });
  });

  describe('of a user of this service', () => {
    let app: Awaited<ReturnType<SendsUnderTest['app']>>;
    beforeAll(async () => {
      app = await sends.app();
    });
    const refusedTo = async (sender: Sender, sponsor: boolean, reason: string) => {
      for (const path of ['/onchain/send', '/onchain/estimate-user-op-gas']) {
        const { status, body } = await sends.post(path, sender, { sponsor });
        expect([path, status, body['code'], body['reason']]).toEqual([path, 422, 'user_op_rejected', reason]);
      }
    };
    const withCode = async (address: string, code: string, work: () => Promise<void>) => {
      const before = await sends.testChain.call('eth_getCode', address, 'latest');
      await sends.testChain.call('anvil_setCode', address, code);
      await work();
      await sends.testChain.call('anvil_setCode', address, before);
    };

    it.each([
      ['AA13 initCode failed or OOG', 'accountFactory', reverts('0x')],
      ['AA14 initCode must return sender', 'accountFactory', returns(1n)],
      ['AA33 reverted', 'paymaster', reverts('0x')],
      ['AA30 paymaster not deployed', 'paymaster', '0x'],
    ] as const)('is answered 422 with its text: %s', async (reason, name, code) => {
      const sender = await sends.sender(app);
      await withCode(sends.prepared[name], code, () => refusedTo(sender, true, reason));
    });

    it('is answered 422 with its text: AA15 and AA23', async () => {
      const sender = await sends.sender(app);
      const { accountFactory } = sends.prepared;
      const code = returns(BigInt(sender.address));
      await withCode(accountFactory, code, () => refusedTo(sender, false, 'AA15 initCode must create sender'));
      await withCode(sender.address, reverts(BYTES), () => refusedTo(sender, false, 'AA23 reverted'));
    });
  });
});
