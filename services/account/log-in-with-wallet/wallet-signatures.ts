import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import type { LatestState } from '../../../shared/chain/latest-state.ts';
import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import type { Challenge } from '../domain/challenge.ts';
import { challengeMessage } from '../domain/challenge-message.ts';
import { contractAccount, contractIdentity, walletIdentity, type Identity } from '../domain/identity.ts';
import type { IdentityIds } from '../edge/identity-ids.ts';
import { messageDigest } from '../../../shared/keys/message-digest.ts';
import { recoverSigner } from '../../../shared/keys/recover-signer.ts';
import { contractSignatureCode, VALIDATION_GAS } from './contract-signature.ts';

/** 16 KiB in hex. What deploys a wallet takes one or two. */
const CHARACTERS_MAX = 2 + 2 * 16 * 1_024;

/** @throws Refusal signature_malformed unless it is the 65 bytes of a key's signature, or more for a contract, in hex */
export const readWalletSignature = (text: string): string => {
  if (text.length > CHARACTERS_MAX || !/^0x[0-9a-fA-F]{130}(?:[0-9a-fA-F]{2})*$/.test(text)) {
    throw new Refusal(
      'signature_malformed',
      'a signature is 0x and 130 hex digits; of a contract more, at most 16 KiB',
    );
  }
  return text.toLowerCase();
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

  /** The identities that a signature over one of these challenges may prove. */
  identities(signer: string, challenges: readonly Challenge[]): Identity[] {
    const chainIds = new Set(challenges.map(({ chainId }) => chainId));
    return [walletIdentity(signer), ...[...chainIds].map((chainId) => this.contract(signer, chainId))];
  }

  /**
   * Returns what a signature proves; `undefined` if it fits none of these challenges, of which the first come first.
   * @throws Refusal chain_not_supported, dependency_unavailable
   */
  async find(
    challenges: readonly Challenge[],
    { signer, signature }: { signer: string; signature: string },
  ): Promise<WalletProof | undefined> {
    const messages = challenges.map((challenge) => ({ ...challenge, message: challengeMessage(challenge) }));
    const signed = messages.find(({ message }) => recoverSigner(message, signature) === signer);
    if (signed) return { identity: walletIdentity(signer), nonce: signed.nonce, isContract: false };
    const failures: Refusal[] = [];
    const forContracts = messages.filter(({ redemption }) => !redemption || redemption.by === 'contract');
    for (const [chainId, onChain] of Map.groupBy(forContracts, (message) => message.chainId)) {
      try {
        const hashes = onChain.map(({ message }) => `0x${messageDigest(message).toString('hex')}`);
        const accepted = onChain[await this.askContract(chainId, { signer, signature, hashes })];
        if (accepted) return { identity: this.contract(signer, chainId), nonce: accepted.nonce, isContract: true };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        failures.push(error);
      }
    }
    const failure = failures.find(({ code }) => code === 'dependency_unavailable') ?? failures[0];
    if (failure) throw failure;
    return undefined;
  }

  /** Returns which hash the contract takes the signature for; -1 for none. */
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
      return Number(await chain.run(contractSignatureCode(asked), VALIDATION_GAS)) - 1;
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
