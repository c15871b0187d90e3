import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { JsonObject } from '../../../../schemas/json.ts';
import { topics } from '../../../../schemas/topics.ts';
import { addressOfKey, newPrivateKey } from '../../../../shared/keys/signatures/secp256k1-keys.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { call, signIn, type Answered, type SignedIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import type { ChainState } from '../../../onchain/chain-administration.ts';
import { createAccountData } from '../../../onchain/operations/domain/account-calls.ts';
import { accountAddress } from '../../../onchain/smart-accounts/domain/smart-account.ts';
import { answeredOperationOf, type UserOperation } from '../../../onchain/operations/domain/user-operation.ts';
import { signOperation } from '../../../onchain/testing/signed-operation.ts';
import { PausableProxy } from '../../fault-tests/pausable-proxy.ts';
import { ProgramOnChain } from '../program-on-chain.ts';
import { readTopicInFile } from '../read-topic.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 30_000;
const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
const DEPOSIT_WEI = ETHER;
const EXECUTOR_WEI = ETHER / 10n;
/** The maximum fee of a send: the node's suggestion alone is as much. */
const FEE_CAP = GWEI;
const LOW_FEE = GWEI / 10n;
const TARGET = '0x00000000000000000000000000000000000B0d1E';
const EXECUTORS = ['--executors', '2', '--executor-balance', String(EXECUTOR_WEI)];
const FUNDS = ['--deposit', String(DEPOSIT_WEI), ...EXECUTORS];
const hex = (value: bigint): string => `0x${value.toString(16)}`;

describe('whoever operates a chain', () => {
  let running: ProgramOnChain<RunningProgram>;
  let node: PausableProxy;
  let sender: SignedIn;
  let prepared: ChainState;
  /** The answers to the sends. */
  const sent: JsonObject[] = [];
  /** The senders of all accepted operations. */
  const senders: string[] = [];

  beforeAll(async () => {
    const anvil = await Anvil.start(join(folder, 'chain'));
    node = await PausableProxy.open(Number(new URL(anvil.rpcUrl).port));
    const chain = { rpcUrls: [`http://127.0.0.1:${String(node.port)}`], feeCap: String(FEE_CAP) };
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    running = await ProgramOnChain.start({ folder, start, anvil, chain, settings: { LOG_LEVEL: 'trace' } });
    sender = await signIn(running.program.development);
    await nextBlocksCost(LOW_FEE);
  });
  afterAll(async () => {
    await running.stop();
    await node[Symbol.asyncDispose]();
  });

  const send = async (request: JsonObject = {}): Promise<Answered> => {
    const body = { chainId: Anvil.chainId, sponsor: true, transactionReq: { to: TARGET }, ...request };
    const url = `${running.program.development.accountUrl}/onchain/send`;
    const answer = await call(url, { method: 'POST', body, headers: sender.bearer });
    if (answer.status !== 201) return answer;
    sent.push(answer.body);
    senders.push(answer.body['sender'] as string);
    return answer;
  };
  const cancel = (id: unknown): Promise<Answered> => {
    const url = `${running.program.development.accountUrl}/onchain/transactions/${id as string}`;
    return call(url, { method: 'DELETE', headers: sender.bearer });
  };
  /** Makes the first operation of a new account that can pay. */
  const signedByOwner = async () => {
    const owner = newPrivateKey();
    const { accountFactory, entryPoint } = prepared;
    const unsigned = {
      sender: accountAddress(accountFactory, addressOfKey(owner)),
      nonce: 0n,
      factory: { address: accountFactory, data: createAccountData(addressOfKey(owner)) },
      ...{ callData: '0x', callGasLimit: 0n, verificationGasLimit: 400_000n, preVerificationGas: 80_000n },
      ...{ maxFeePerGas: FEE_CAP, maxPriorityFeePerGas: FEE_CAP / 2n, paymaster: undefined, signature: '0x' },
    };
    await setBalance(unsigned.sender, ETHER);
    return signOperation(unsigned, { chainId: Anvil.chainId, entryPoint, owner });
  };
  const sendSigned = async (operation: UserOperation): Promise<JsonObject> => {
    const { accountUrl, app } = running.program.development;
    const params = [answeredOperationOf(operation), prepared.entryPoint];
    const body = { method: 'eth_sendUserOperation', params, chainID: Anvil.chainId, apiKey: app.apiKey };
    const { body: answered } = await call(`${accountUrl}/rpc`, { method: 'POST', body, headers: sender.bearer });
    if ('result' in answered) senders.push(operation.sender);
    return answered;
  };
  const refusalOf = ({ status, body }: Answered) => [status, body['code'], body['rule']];
  const transaction = async (id: unknown): Promise<JsonObject> => get(`/onchain/transactions/${id as string}`);
  const get = async (path: string): Promise<JsonObject> => {
    const { accountUrl } = running.program.development;
    return (await call(accountUrl + path, { headers: sender.bearer })).body;
  };
  const becomes = (id: unknown, ...statuses: string[]) =>
    eventually(
      async () => statuses.includes((await transaction(id))['status'] as string),
      HAPPENS_WITHIN_MS,
      `a transaction must be ${statuses.join(' or ')}`,
    );
  const isCalled = (status: string) =>
    eventually(
      async () => (await get('/universal-account'))['status'] === status,
      HAPPENS_WITHIN_MS,
      `the status must be ${status}`,
    );
  const isLogged = (text: RegExp) =>
    eventually(() => text.test(running.program.output), HAPPENS_WITHIN_MS, `${text.source} must be logged`);
  /** Mines the first of these blocks. The base fee of later ones falls, or rises, by an eighth at most. */
  const nextBlocksCost = async (wei: bigint): Promise<void> => {
    await running.anvil.call('anvil_setNextBlockBaseFeePerGas', hex(wei));
    await running.mine(1);
  };
  const setBalance = (address: string, wei: bigint) => running.anvil.call('anvil_setBalance', address, hex(wei));
  const balanceOf = async (address: string) =>
    BigInt((await running.anvil.call('eth_getBalance', address, 'latest')) as string);
  const funds = async () => {
    const [funder] = (await running.anvil.call('eth_accounts')) as string[];
    return balanceOf(funder ?? '');
  };

  it('prepares it, sees what it has, and prepares nothing twice', async () => {
    expect(await running.chainState()).toMatchObject({
      ...{ chainId: Anvil.chainId, paymaster: null, executors: [] },
      missing: ['accountFactory', 'entryPoint', 'paymaster'],
    });
    expect(refusalOf(await send({ sponsor: false }))).toEqual([503, 'dependency_unavailable', undefined]);
    prepared = await running.prepare(FUNDS);
    expect(prepared).toMatchObject({ paymaster: { depositWei: String(DEPOSIT_WEI) }, missing: [] });
    const executor = { wei: String(EXECUTOR_WEI), nonce: 0, bundlesUnderWay: 0 };
    expect(prepared.executors).toMatchObject([executor, executor]);
    const before = await funds();
    expect(await running.prepare(FUNDS)).toEqual(prepared);
    expect(await running.chainState()).toEqual(prepared);
    expect(await funds()).toBe(before);
  });

  it('says what an app pays for, which is in effect soon, as is its end', async () => {
    const { id } = running.program.development.app;
    const chain = ['--chain', String(Anvil.chainId)];
    expect(refusalOf(await send())).toEqual([403, 'sponsorship_refused', 'no_policy']);
    await running.setPolicy(['--allow', `${TARGET}:0x`]);
    const accepted = async () => (await send()).status === 201;
    await eventually(accepted, HAPPENS_WITHIN_MS, 'the policy must be in effect');
    expect(refusalOf(await send({ transactionReq: { to: TARGET, data: '0x12345678' } }))).toEqual([
      ...[403, 'sponsorship_refused', 'selector'],
    ]);
    const shown = JSON.parse(await running.annals('app', 'policy', 'show', id, '--json')) as JsonObject;
    expect(shown['policies']).toMatchObject([{ allow: [{ target: TARGET, selectors: ['0x'] }] }]);
    await running.annals('app', 'policy', 'remove', id, ...chain);
    const refused = async () => (await send()).body['rule'] === 'no_policy';
    await eventually(refused, HAPPENS_WITHIN_MS, 'the policy must not be in effect any more');
    await running.setPolicy();
    await eventually(accepted, HAPPENS_WITHIN_MS, 'the policy must be in effect again');
  });

  it('reads what an app has paid: what the deposit has lost', async () => {
    for (const { id } of sent) await becomes(id, 'included', 'final');
    await running.mine(4);
    for (const { id } of sent) await becomes(id, 'final');
    const { paymaster } = await running.chainState();
    const sponsorship = ['app', 'sponsorship', running.program.development.app.id, '--json'];
    expect(JSON.parse(await running.annals(...sponsorship))).toMatchObject({
      chains: [
        {
          ...{ chainId: Anvil.chainId, dayWei: null, reserved: '0', operations: sent.length },
          settled: String(DEPOSIT_WEI - BigInt(paymaster?.depositWei ?? 0)),
        },
      ],
    });
  });

  it('takes from the deposit, and no more than it has', async () => {
    const { address } = randomWallet();
    const { paymaster } = await running.chainState();
    const of = ['--chain', String(Anvil.chainId), '--to', address];
    await running.annals('chain', 'withdraw', ...of, '--wei', '12345');
    expect(await balanceOf(address)).toBe(12_345n);
    const left = String(BigInt(paymaster?.depositWei ?? 0) - 12_345n);
    expect((await running.chainState()).paymaster?.depositWei).toBe(left);
    await expect(running.annals('chain', 'withdraw', ...of, '--wei', String(ETHER))).rejects.toMatchObject({
      ...{ code: 1, stderr: expect.stringMatching(/^annals: the deposit is \d+ wei: withdraw no more than that\n$/) },
    });
  });

  it('is told of a bundle that blocks leave out at the feeCap, which goes on when they cost less', async () => {
    await running.mining('none');
    const { body } = await send();
    const isUnderWay = async () =>
      (await running.chainState()).executors.some(({ bundlesUnderWay }) => bundlesUnderWay > 0);
    await eventually(isUnderWay, HAPPENS_WITHIN_MS, 'a bundle must be under way');
    const told = /ERROR.*is left out of blocks at the feeCap of the chain: raise feeCap/;
    await eventually(
      async () => {
        await nextBlocksCost(10n * FEE_CAP);
        return told.test(running.program.output);
      },
      HAPPENS_WITHIN_MS,
      'the alarm must be logged',
    );
    expect(await transaction(body['id'])).toMatchObject({ status: 'submitted' });
    await nextBlocksCost(LOW_FEE);
    await running.mining('at once');
    await becomes(body['id'], 'included', 'final');
  });

  it('is told that no executor has gas, and after a refill what was accepted goes on', async () => {
    await running.mining('none');
    const waiting = await send();
    expect(waiting.status).toBe(201);
    await setBalance(waiting.body['sender'] as string, ETHER);
    const { body: own } = await send({ sponsor: false });
    for (const { address } of prepared.executors) await setBalance(address, 0n);
    await running.mining('at once');
    await running.mine(1);
    await isCalled('degraded');
    await isLogged(/ERROR.*has too little balance/);
    const refused = async () => (await send()).body['code'] === 'dependency_unavailable';
    await eventually(refused, HAPPENS_WITHIN_MS, 'new sends must be refused');
    expect(refusalOf(await cancel(own['id']))).toEqual([503, 'dependency_unavailable', undefined]);
    const signed = await signedByOwner();
    expect(await sendSigned(signed)).toMatchObject({
      error: { code: -32603, message: expect.stringContaining('can pay for a bundle') },
    });
    await running.prepare(FUNDS);
    for (const { id } of sent) await becomes(id, 'included', 'final');
    await isCalled('ok');
    const accepted = async () => (await send()).status === 201;
    await eventually(accepted, HAPPENS_WITHIN_MS, 'new sends must be accepted again');
    expect(await sendSigned(signed)).toHaveProperty('result');
  });

  it('is told that the deposit is less than what is reserved, and after a refill what was accepted goes on', async () => {
    for (const { id } of sent) await becomes(id, 'included', 'final');
    await running.mining('none');
    const { body: waiting } = await send();
    await nextBlocksCost(10n * FEE_CAP);
    await running.mining('at once');
    const { owner = '', depositWei = '' } = (await running.chainState()).paymaster ?? {};
    await setBalance(owner, ETHER);
    const withdrawal = ['--chain', String(Anvil.chainId), '--wei', depositWei, '--to', randomWallet().address];
    await running.annals('chain', 'withdraw', ...withdrawal);
    await isCalled('degraded');
    const refused = async () => (await send()).body['rule'] === 'deposit';
    await eventually(refused, HAPPENS_WITHIN_MS, 'sponsored sends must be refused');
    await nextBlocksCost(LOW_FEE);
    await eventually(
      async () => {
        const { status, history } = await transaction(waiting['id']);
        const { reason } = (history as { reason?: string }[]).at(-1) ?? {};
        return status === 'submitted' && reason?.startsWith('AA31');
      },
      HAPPENS_WITHIN_MS,
      'what was accepted must wait, and say why',
    );
    await running.prepare(FUNDS);
    await becomes(waiting['id'], 'included', 'final');
    await isCalled('ok');
  });

  it('is told that its node does not answer', async () => {
    await isCalled('ok');
    node.pause();
    await isCalled('degraded');
    node.resume();
    await isCalled('ok');
  });

  it('publishes what was sent without signatures', async () => {
    await running.mine(4);
    for (const { id } of sent) await becomes(id, 'final');
    const read = () => readTopicInFile(join(running.dataFolder, 'bus.db'), topics.transactions);
    const submitted = await eventually(
      async () => {
        const all = (await read()).filter(({ headers }) => headers['ce_type'] === 'annals.TxSubmitted.v1');
        return all.length === senders.length && all;
      },
      HAPPENS_WITHIN_MS,
      'each send must be published',
    );
    for (const { value } of submitted) {
      const { operation, sender: from, chainId } = JSON.parse(value) as { operation: JsonObject } & JsonObject;
      expect(senders).toContain(from);
      expect(chainId).toBe(Anvil.chainId);
      expect(operation).toHaveProperty('callData');
      expect(operation).not.toHaveProperty('signature');
    }
  });

  it('opens the key vault with its MASTER_KEY only', async () => {
    const said = running.program.output;
    await running.program.stop();
    const elsewhere = join(folder, 'elsewhere');
    mkdirSync(elsewhere);
    const stores = readdirSync(running.dataFolder).filter((file) => /^(?:vault|events)\.db/.test(file));
    for (const file of stores) copyFileSync(join(running.dataFolder, file), join(elsewhere, file));
    const keys = z.object({ keys: z.number(), unreadable: z.number() });
    const status = (dataFolder: string) => running.annalsIn(dataFolder, 'vault', 'status', '--json');
    const opened = keys.parse(JSON.parse((await status(running.dataFolder)).stdout));
    expect(opened.keys).toBeGreaterThan(EXECUTORS.length);
    expect(opened.unreadable).toBe(0);
    await expect(status(elsewhere)).rejects.toThrow(/master\.key/);
    expect(existsSync(join(elsewhere, 'master.key'))).toBe(false);
    writeFileSync(join(elsewhere, 'master.key'), `${randomBytes(32).toString('base64')}\n`);
    await expect(status(elsewhere)).rejects.toThrow(/master/);
    const masterKey = readFileSync(join(running.dataFolder, 'master.key'), 'utf8');
    expect(said).not.toContain(masterKey);
  });
});
