import { userStream } from '../../../../schemas/events/account/user-events.ts';
import { AbiCoder, concat, getCreate2Address, hashMessage, keccak256, zeroPadValue } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { serializeErc6492Signature } from 'viem';
import { startLocalChain, type LocalChain } from '../../../../shared/local-chain/local-chain-process.ts';
import { codeOf } from '../../../../shared/testing/http/problem-of-answer.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { callNode } from '../../../../shared/testing/chain/call-node.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../../shared/testing/without-appends-to.ts';
import { userFold } from '../../users/domain/user.ts';
import { chainsOf, startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer, sessionOf } from '../../testing/sessions.ts';

const folder = temporaryFolder();
const chainFolders = [temporaryFolder(), temporaryFolder()] as const;
const [A, B] = [2484, 31_337];
/** Deploys the code behind a salt by CREATE2; anvil has it from its first block. */
const DEPLOYER = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
const MAGIC = '1626ba7e';

const byte = (value: number) => value.toString(16).padStart(2, '0');
/** Code that returns a word whose first bytes are these. */
const returning = (first: string) => `0x63${first}60e01b60005260206000f3`;
/** A wallet: the signature is 65 bytes over the hash itself by the key of its owner. Each line is one step. */
const walletOf = (owner: string) =>
  [
    '0x600435600052', // memory 0: the hash
    '60a43560f81c602052', // 32: v
    '606435604052', // 64: r
    '608435606052', // 96: s
    '602060006080600060015afa50', // ecrecover, over the hash
    `73${owner.slice(2).toLowerCase()}60005114`, // whether that is the owner
    `63${MAGIC}0260e01b60005260206000f3`, // the magic value, or 0
  ].join('');
/** Code that deploys code. */
const creationOf = (code: string) =>
  `0x61${byte(code.length / 2 - 1).padStart(4, '0')}80600c6000396000f3${code.slice(2)}`;

/** As a Safe: an empty signature is taken for a hash that was approved, which is a slot of its storage. */
const approving = `0x60043554604435151663${MAGIC}0260e01b60005260206000f3`;

const anyone = () => randomWallet().address;

describe('logging in with a contract', () => {
  let chains: [LocalChain, LocalChain];
  let account: AccountUnderTest;
  beforeAll(async () => {
    const start = (chainId: number, at: 0 | 1) => startLocalChain({ chainId, folder: chainFolders[at], port: 0 });
    chains = await Promise.all([start(A, 0), start(B, 1)]);
    account = await startAccountUnderTest(folder, {
      CHAINS: chainsOf([A, chains[0].rpcUrl], [B, chains[1].rpcUrl]),
      TRUSTED_PROXIES: '127.0.0.1',
    });
  });
  afterAll(async () => {
    await account.service.close();
    await Promise.all(chains.map(({ stop }) => stop()));
  });

  const setCode = async (address: string, code: string, chainId = A): Promise<void> => {
    const chain = chains.find((one) => one.chainId === chainId);
    await callNode(chain?.rpcUrl ?? '', 'anvil_setCode', [address, code]);
  };
  const approve = async (wallet: string, message: string): Promise<void> => {
    const params = [wallet, hashMessage(message), zeroPadValue('0x01', 32)];
    await callNode(chains[0].rpcUrl, 'anvil_setStorageAt', params);
  };
  const messageFor = async (signer: string, chainId = A) =>
    (await account.challengeFor(signer, account.appHeaders(), chainId)).message;
  /** Logs in at an address with a signature that whatever is there takes or does not. */
  const tryAt = async (signer: string, chainId = A, signature = `0x${'11'.repeat(65)}`) => {
    await messageFor(signer, chainId);
    return account.redeem(signer, signature);
  };

  it('takes the signature of its owner over the message, and nobody else has', async () => {
    const [owner, stranger] = [account.newWallet(), account.newWallet()];
    const wallet = anyone();
    await setCode(wallet, walletOf(owner.address));
    expect(await codeOf(await account.redeem(wallet, stranger.signMessageSync(await messageFor(wallet))))).toBe(
      'wallet_signature_invalid',
    );
    const signature = owner.signMessageSync(await messageFor(wallet));
    await messageFor(wallet);
    const session = await sessionOf(await account.redeem(wallet, signature));
    expect(session.userId).toMatch(/^usr_[0-9a-z]{26}$/);
    expect(await codeOf(await account.redeem(wallet, signature))).toBe('wallet_signature_invalid');
    const again = await sessionOf(await account.redeem(wallet, owner.signMessageSync(await messageFor(wallet))));
    expect(again.userId).toBe(session.userId);
    expect(await account.typesOf(`user-${session.userId}`)).toEqual([
      'UserRegistered',
      'SmartAccountAssigned',
      'SmartAccountAssigned',
      'IdentityLinked',
      'UserLoggedIn',
      'UserLoggedIn',
    ]);
    const { state: user } = await account.transactor.load(userStream(session.userId), userFold);
    const id = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(user.entity?.identities).toMatchObject([{ id, method: 'wallet', label: `eip155:${String(A)}:${wallet}` }]);
  });

  it('that is not deployed yet is deployed in the call, and stays so until somebody deploys it', async () => {
    const owner = account.newWallet();
    const creation = creationOf(walletOf(owner.address));
    const salt = zeroPadValue('0x07', 32);
    const wallet = getCreate2Address(DEPLOYER, salt, keccak256(creation));
    const wrap = (signature: string, data = concat([salt, creation])) =>
      serializeErc6492Signature({
        address: DEPLOYER,
        data: data as `0x${string}`,
        signature: signature as `0x${string}`,
      });
    const signature = owner.signMessageSync(await messageFor(wallet));
    expect(await codeOf(await account.redeem(wallet, signature))).toBe('wallet_signature_invalid');
    const stranger = account.newWallet().signMessageSync(await messageFor(wallet));
    expect(await codeOf(await account.redeem(wallet, wrap(stranger)))).toBe('wallet_signature_invalid');
    const other = concat([salt, creationOf(returning(MAGIC))]);
    expect(await codeOf(await account.redeem(wallet, wrap(signature, other)))).toBe('wallet_signature_invalid');
    const { userId } = await sessionOf(await account.redeem(wallet, wrap(signature)));
    await setCode(wallet, walletOf(owner.address));
    const again = await sessionOf(await account.redeem(wallet, owner.signMessageSync(await messageFor(wallet))));
    expect(again.userId).toBe(userId);
  });

  it('is another identity on another chain, where somebody else may have its address', async () => {
    const [mine, theirs] = [anyone(), account.newWallet()];
    await setCode(mine, returning(MAGIC), A);
    const onA = await sessionOf(await tryAt(mine, A));
    expect(await codeOf(await tryAt(mine, B))).toBe('wallet_signature_invalid');
    await setCode(mine, walletOf(theirs.address), B);
    const onB = await sessionOf(await account.redeem(mine, theirs.signMessageSync(await messageFor(mine, B))));
    expect(onB.userId).not.toBe(onA.userId);
  });

  it('is not the key of its address: an account with a key and code has two identities', async () => {
    const wallet = account.newWallet();
    const byKey = await account.logIn(wallet);
    await setCode(wallet.address, returning(MAGIC));
    expect((await account.logIn(wallet)).userId).toBe(byKey.userId);
    const byCode = await sessionOf(await tryAt(wallet.address));
    expect(byCode.userId).toMatch(/^usr_/);
  });

  it('logs in an account by its key although the code that it delegates to knows no such call', async () => {
    const wallet = account.newWallet();
    const delegate = anyone();
    await setCode(delegate, '0x60006000fd');
    await setCode(wallet.address, `0xef0100${delegate.slice(2)}`);
    expect((await account.logIn(wallet)).userId).toBe(wallet.address.toLowerCase());
  });

  it('takes an empty signature where the message was approved on the chain', async () => {
    const wallet = anyone();
    await setCode(wallet, approving);
    const message = await messageFor(wallet);
    expect(await codeOf(await account.redeem(wallet, '0x'))).toBe('wallet_signature_invalid');
    await approve(wallet, message);
    expect(await codeOf(await account.redeem(wallet, '0x00'))).toBe('wallet_signature_invalid');
    await messageFor(wallet);
    expect((await sessionOf(await account.redeem(wallet, '0x'))).userId).toMatch(/^usr_/);
    expect(await codeOf(await account.redeem(wallet, '0x'))).toBe('wallet_signature_invalid');
  });

  describe('whose approval on the chain anybody can send', () => {
    const from = (at: number) => ({ ...account.appHeaders(), 'x-forwarded-for': `203.0.113.${String(at)}` });
    const approved = async (at: number) => {
      const wallet = anyone();
      await setCode(wallet, approving);
      const { message, nonce } = await account.challengeFor(wallet, from(at));
      await approve(wallet, message);
      return { wallet, nonce };
    };

    it('logs in the client that asked for the challenge, and no other', async () => {
      const { wallet } = await approved(1);
      expect(await codeOf(await account.redeem(wallet, '0x', from(2)))).toBe('wallet_signature_invalid');
      await account.challengeFor(wallet, from(2));
      expect(await codeOf(await account.redeem(wallet, '0x', from(2)))).toBe('wallet_signature_invalid');
      expect((await sessionOf(await account.redeem(wallet, '0x', from(1)))).userId).toMatch(/^usr_/);
    });

    it('logs in whoever knows the nonce of the challenge, from wherever, and by that challenge alone', async () => {
      const { wallet, nonce } = await approved(1);
      const other = await account.challengeFor(wallet, from(1));
      const redeem = (by: string, at: number) => account.redeem(wallet, '0x', from(at), by);
      expect(await codeOf(await redeem(other.nonce, 1))).toBe('wallet_signature_invalid');
      expect(await codeOf(await redeem('0'.repeat(26), 1))).toBe('wallet_signature_invalid');
      expect((await sessionOf(await redeem(nonce, 2))).userId).toMatch(/^usr_/);
      expect(await codeOf(await redeem(nonce, 2))).toBe('wallet_signature_invalid');
    });

    it('completes the login that crashed of that client only', async () => {
      const { wallet } = await approved(1);
      const crashed = await withoutAppendsTo('identity-', account.foundation, () =>
        account.redeem(wallet, '0x', from(1)),
      );
      expect(await codeOf(crashed)).toBe('internal_error');
      expect(await codeOf(await account.redeem(wallet, '0x', from(2)))).toBe('challenge_unknown');
      expect((await sessionOf(await account.redeem(wallet, '0x', from(1)))).userId).toMatch(/^usr_/);
    });
  });

  it.each([0, 1, 64, 66, 20_000, 49_152, 65_536])(
    'takes a signature of %i bytes that the signer takes',
    async (bytes) => {
      const wallet = anyone();
      await setCode(wallet, returning(MAGIC));
      const signature = `0x${'11'.repeat(bytes)}`;
      expect((await sessionOf(await tryAt(wallet, A, signature))).userId).toMatch(/^usr_/);
      await setCode(wallet, '0x5b600056');
      expect(await codeOf(await tryAt(wallet, A, signature))).toBe('wallet_signature_invalid');
      expect(await codeOf(await tryAt(anyone(), A, signature))).toBe('signature_malformed');
    },
  );

  it('refuses what is no bytes in hex, or more than 64 KiB', async () => {
    const wallet = anyone();
    await setCode(wallet, returning(MAGIC));
    for (const signature of ['', '0', '0x1', '0xgg', '11', `0x${'11'.repeat(65_537)}`]) {
      expect(await codeOf(await tryAt(wallet, A, signature))).toBe('signature_malformed');
    }
  });

  it.each([
    ['has no code', '0x'],
    ['reverts', '0x60006000fd'],
    ['reverts with a megabyte', '0x621000006000fd'],
    ['returns a megabyte', '0x621000006000f3'],
    ['never ends', '0x5b600056'],
    ['stops', '0x00'],
    ['returns nothing', '0x60006000f3'],
    ['returns one byte', `0x63${MAGIC}60e01b60005260016000f3`],
    ['returns another value', returning('ffffffff')],
    ['returns true', '0x600160005260206000f3'],
    ['returns the value at the wrong end', `0x63${MAGIC}60005260206000f3`],
    ['returns the value and more', `0x63${MAGIC}60e01b60011760005260206000f3`],
    ['is not valid code', '0xfe'],
  ])('is refused where the signer %s', async (_, code) => {
    const wallet = anyone();
    await setCode(wallet, code);
    expect(await codeOf(await tryAt(wallet))).toBe('wallet_signature_invalid');
  });

  it.each([
    ['the zero address', `0x${'0'.repeat(40)}`],
    ['a precompile that returns what it is given', `0x${'4'.padStart(40, '0')}`],
  ])('is refused for %s', async (_, signer) => {
    for (const last of ['1b', '1c', '00']) {
      expect(await codeOf(await tryAt(signer, A, `0x${'11'.repeat(64)}${last}`))).toBe('wallet_signature_invalid');
    }
  });

  it('refuses the other signature that can be made of one by a key', async () => {
    const wallet = account.newWallet();
    const signature = wallet.signMessageSync(await messageFor(wallet.address));
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0');
    const twin = `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`;
    expect(await codeOf(await account.redeem(wallet.address, twin))).toBe('wallet_signature_invalid');
  });

  it('is refused where the way to deploy it loops, reverts or is none', async () => {
    const wallet = anyone();
    const [loops, reverts] = [anyone(), anyone()];
    await Promise.all([setCode(loops, '0x5b600056'), setCode(reverts, '0x621000006000fd')]);
    const coder = AbiCoder.defaultAbiCoder();
    const wrap = (factory: string) =>
      concat([coder.encode(['address', 'bytes', 'bytes'], [factory, '0x01', '0x02']), `0x${'6492'.repeat(16)}`]);
    for (const factory of [loops, reverts, anyone()]) {
      expect(await codeOf(await tryAt(wallet, A, wrap(factory)))).toBe('wallet_signature_invalid');
    }
    const junk = concat([`0x${'ff'.repeat(96)}`, `0x${'6492'.repeat(16)}`]);
    expect(await codeOf(await tryAt(wallet, A, junk))).toBe('wallet_signature_invalid');
  });

  it('finds the message that was signed among ten, and redeems that one', async () => {
    const owner = account.newWallet();
    const wallet = anyone();
    await setCode(wallet, walletOf(owner.address));
    const messages: string[] = [];
    for (let issued = 0; issued < 10; issued += 1) messages.push(await messageFor(wallet));
    for (const message of messages) {
      await sessionOf(await account.redeem(wallet, owner.signMessageSync(message)));
      expect(await codeOf(await account.redeem(wallet, owner.signMessageSync(message)))).toMatch(
        message === messages.at(-1) ? 'challenge_unknown' : 'wallet_signature_invalid',
      );
    }
  });

  it('is linked to the user of a bearer token, and completed by who repeats it after a crash', async () => {
    const mine = await account.logIn(account.newWallet());
    const owner = account.newWallet();
    const wallet = anyone();
    await setCode(wallet, walletOf(owner.address));
    const signature = owner.signMessageSync(await messageFor(wallet));
    const headers = () => ({ ...account.appHeaders(), ...bearer(mine) });
    const crashed = await withoutAppendsTo('identity-', account.foundation, () =>
      account.redeem(wallet, signature, headers()),
    );
    expect(await codeOf(crashed)).toBe('internal_error');
    expect((await sessionOf(await account.redeem(wallet, signature, headers()))).userId).toBe(mine.userId);
    expect(
      (await sessionOf(await account.redeem(wallet, owner.signMessageSync(await messageFor(wallet))))).userId,
    ).toBe(mine.userId);
  });

  it('that crashed is completed by a proof of the same kind only', async () => {
    const wallet = account.newWallet();
    await setCode(wallet.address, returning(MAGIC));
    const message = await messageFor(wallet.address);
    const bySomebody = `0x${'11'.repeat(65)}`;
    const crashed = await withoutAppendsTo('identity-', account.foundation, () =>
      account.redeem(wallet.address, bySomebody),
    );
    expect(await codeOf(crashed)).toBe('internal_error');
    expect(await codeOf(await account.redeem(wallet.address, wallet.signMessageSync(message)))).toBe(
      'challenge_unknown',
    );
    expect((await sessionOf(await account.redeem(wallet.address, bySomebody))).userId).toMatch(/^usr_/);
  });
});
