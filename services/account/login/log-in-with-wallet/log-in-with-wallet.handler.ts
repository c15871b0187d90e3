import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { readAddressMember } from '../../../../shared/chain/identifiers/address.ts';
import { MASTER_KEY } from '../../../../shared/edge/tokens.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import {
  challengeFold,
  challengesKept,
  challengeStream,
  noMatchingChallenge,
  redeemChallenge,
  signable,
} from '../domain/challenge.ts';
import { Logins, type LoggedIn, type LoginRequest } from '../logins.ts';
import { redeem, type Wish } from '../redemption.ts';
import { clientMark } from './client-mark.ts';
import { readWalletSignature, WalletSignatures, type WalletProof } from './wallet-signatures.ts';

/** Logs in with the signature of a wallet over an open challenge, or links the wallet to the user of a bearer token. */
export class LogInWithWallet extends Command<LoggedIn> {
  constructor(
    readonly login: LoginRequest & {
      signer: string;
      signature: string;
      /** Of the challenge that was signed, where the client says which. */
      nonce: string | undefined;
      /** The client's IP address as rate limits count it: of IPv6, its /64 prefix. */
      address: string;
    },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

/** Redeems the challenge that was signed, and completes the login of its signer. */
@CommandHandler(LogInWithWallet)
export class LogInWithWalletHandler implements ICommandHandler<LogInWithWallet> {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly signatures: WalletSignatures,
    @Inject(MASTER_KEY) private readonly masterKey: Uint8Array,
  ) {}

  async execute({ login, metadata }: LogInWithWallet): Promise<LoggedIn> {
    const { appId, origin, device, user } = login;
    const signer = readAddressMember('signer', login.signer);
    const signature = readWalletSignature(login.signature);
    const stream = challengeStream(appId, signer);
    const { state: issued } = await this.transactor.load(stream, challengeFold);
    const nowMs = this.transactor.clock.now();
    const client = clientMark(this.masterKey, login.address);
    const candidates = signable(issued, nowMs, { origin, client, nonce: login.nonce });
    await this.logins.wish(user, this.signatures.identities(signer, candidates));
    const proof = await this.signatures.find(candidates, { signer, signature });
    if (!proof) throw noMatchingChallenge(issued, nowMs);
    const { identity, isContract } = proof;
    const wish = await this.logins.wish(user, [identity]);
    const { redemption } = await this.redeem(stream, proof, wish, metadata);
    const userId = isContract ? {} : { userId: signer.toLowerCase() };
    return this.logins.complete({ identity, redemption, appId, device, ...userId }, metadata);
  }

  private redeem(stream: string, { nonce, isContract }: WalletProof, wish: Wish, metadata: EventMetadata) {
    const by = isContract ? { by: 'contract' as const } : {};
    return redeem(
      this.transactor,
      {
        stream,
        fold: challengeFold,
        metadata,
        keep: challengesKept,
        use: (challenges, nowMs, session) => redeemChallenge(challenges, nowMs, { nonce, ...session, ...by }),
        recorded: (challenges) => challenges.find((challenge) => challenge.nonce === nonce)?.redemption,
        used: (challenges) => noMatchingChallenge(challenges, this.transactor.clock.now()),
      },
      wish,
    );
  }
}
