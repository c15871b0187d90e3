import { ChainUnavailable } from '../../../../shared/chain/chain-reader.ts';
import type { LatestState } from '../../../../shared/chain/state/latest-state.ts';
import { Refusal, unavailable } from '../../../../shared/errors/refusal.ts';
import type { SignedChallenges } from '../domain/challenge.ts';
import { challengeMessage } from '../domain/challenge-message.ts';
import { contractAccount, contractIdentity, walletIdentity, type Identity } from '../../users/domain/identity.ts';
import type { IdentityIds } from '../identity-ids.ts';
import { messageDigest } from '../../../../shared/keys/signatures/message-digest.ts';
import { recoverSigner } from '../../../../shared/keys/signatures/recover-signer.ts';
import { contractSignatureCode, isOfUndeployed, NO_CODE, VALIDATION_GAS } from './contract-signature.ts';

const BYTES_MAX = 65_536;
/** Of a wallet that is deployed by it: one that is created may have no longer code. */
const UNDEPLOYED_BYTES_MAX = 32_768;
const KEY_BYTES = 65;

/** @throws Refusal signature_malformed unless it is bytes in hex, of which a contract may want none */
export const readWalletSignature = (text: string): string => {
  const signature = text.toLowerCase();
  const bytes = (text.length - 2) / 2;
  const isTooLong = bytes > (isOfUndeployed(signature) ? UNDEPLOYED_BYTES_MAX : BYTES_MAX);
  if (isTooLong || !/^0x(?:[0-9a-f]{2})*$/.test(signature)) {
    throw new Refusal(
      'signature_malformed',
      'a signature is 0x and hex digits in pairs: 65 bytes of a key, at most 64 KiB of a contract, and 32 KiB with ERC-6492',
    );
  }
  return signature;
};

export interface WalletProof {
  identity: Identity;
  /** Of the challenge that was signed. */
  nonce: string;
  isContract: boolean;
}

/** Says which challenge a wallet signed: by its own key, or else as a contract on the chain of the challenge. */
export class WalletSignatures {
  constructor(
    /** By id. */
    private readonly chains: ReadonlyMap<number, LatestState>,
    private readonly ids: IdentityIds,
  ) {}

  /** The identities that a signature may prove. */
  identities(signer: string, { forContract }: SignedChallenges): Identity[] {
    const chainIds = new Set(forContract.map(({ chainId }) => chainId));
    return [walletIdentity(signer), ...[...chainIds].map((chainId) => this.contract(signer, chainId))];
  }

  /**
   * Returns what a signature proves; `undefined` if it fits none of these challenges, of which the first come first.
   * @throws Refusal signature_malformed, chain_not_supported, dependency_unavailable
   */
  async find(
    { forKey, forContract }: SignedChallenges,
    { signer, signature }: { signer: string; signature: string },
  ): Promise<WalletProof | undefined> {
    const isOfKey = signature.length === 2 + 2 * KEY_BYTES;
    const signed = forKey.find((one) => isOfKey && recoverSigner(challengeMessage(one), signature) === signer);
    if (signed) return { identity: walletIdentity(signer), nonce: signed.nonce, isContract: false };
    const failures: Refusal[] = [];
    let isRefused = false;
    for (const [chainId, onChain] of Map.groupBy(forContract, (challenge) => challenge.chainId)) {
      try {
        const hashes = onChain.map((one) => `0x${messageDigest(challengeMessage(one)).toString('hex')}`);
        const answer = await this.askContract(chainId, { signer, signature, hashes });
        if (answer === NO_CODE && !isOfKey && !isOfUndeployed(signature)) throw noKeysSignature(chainId);
        isRefused ||= answer === 0;
        const accepted = onChain[answer - 1];
        if (accepted) return { identity: this.contract(signer, chainId), nonce: accepted.nonce, isContract: true };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        failures.push(error);
      }
    }
    const failure = failures.find(({ code }) => code === 'dependency_unavailable') ?? failures[0];
    if (failure && !(isRefused && failure.code === 'signature_malformed')) throw failure;
    return undefined;
  }

  /** Returns the number of the hash that the contract takes the signature for, counted from 1; 0 for none, or `NO_CODE`. */
  private async askContract(
    chainId: number,
    asked: { signer: string; signature: string; hashes: readonly string[] },
  ): Promise<number> {
    const chain = this.chains.get(chainId);
    if (!chain) {
      const detail = `the signature is not by the key of the signer, and a contract on chain ${String(chainId)} cannot be asked here`;
      throw new Refusal('chain_not_supported', detail);
    }
    try {
      const { code, input } = contractSignatureCode(asked);
      return Number(await chain.run(code, VALIDATION_GAS, input));
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      throw unavailable(`chain ${String(chainId)} cannot be asked whether the signer accepts the signature`, error);
    }
  }

  private contract(signer: string, chainId: number): Identity {
    const identityId = this.ids.keyedIdentity('wallet', contractAccount(signer, chainId));
    return contractIdentity({ identityId, signer, chainId });
  }
}

const noKeysSignature = (chainId: number): Refusal =>
  new Refusal(
    'signature_malformed',
    `it is not 65 bytes of a key, and on chain ${String(chainId)} there is no contract at the address of the signer`,
  );
